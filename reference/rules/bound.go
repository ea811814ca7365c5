package rules

// Bound is a figure that a rule is judged by. A test of the model holds it to the constant
// of that name.
type Bound struct {
	// Name is that of a constant of the model, and Is its value ("2s").
	Name, Is string
	// Patience: nobody promises it. It is how long a busy node is waited for; the others are
	// figures of the kubelet.
	Patience bool
}

// The bounds, each where its constant says what it is for.
var (
	minimumGrace  = Bound{Name: "minimumGrace", Is: "2s"}
	backoffStart  = Bound{Name: "backoffStart", Is: "10s"}
	backoffMax    = Bound{Name: "backoffMax", Is: "5m0s"}
	backoffForget = Bound{Name: "backoffForget", Is: "10m0s"}
	outlives      = Bound{Name: "outlives", Is: "12s"}
	retryAfter    = Bound{Name: "retryAfter", Is: "16s"}
	aimsBeside    = Bound{Name: "aimsBeside", Is: "30s"}
	kubeletIsBack = Bound{Name: "kubeletIsBack", Is: "45s", Patience: true}
	patience      = Bound{Name: "patience", Is: "15s", Patience: true}
	prompt        = Bound{Name: "prompt", Is: "8s", Patience: true}
	overtaken     = Bound{Name: "overtaken", Is: "2s", Patience: true}
	lastProbes    = Bound{Name: "lastProbes", Is: "8", Patience: true}
)
