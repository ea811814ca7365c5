package observed

// Behaviour is what one recording shows.
type Behaviour struct{}

// Difference is what two neighbouring kubelets do differently with one case.
type Difference struct {
	// Case is the path of the case.
	Case string `json:"case"`
	// From and To are the names of the kubelets.
	From string `json:"from"`
	To   string `json:"to"`
	// What says in a sentence what differs.
	What string `json:"what"`
}
