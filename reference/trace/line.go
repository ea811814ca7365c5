package trace

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Actor is who wrote a line: the main process of a container, or a hook or
// probe that the kubelet ran for it.
type Actor string

// The actors of grammar 1.
const (
	Main           Actor = "main"
	PostStart      Actor = "post start hook"
	PreStop        Actor = "pre stop hook"
	StartupProbe   Actor = "startup probe"
	ReadinessProbe Actor = "readiness probe"
	LivenessProbe  Actor = "liveness probe"
)

// Actors lists every actor of grammar 1, in the order of a container's life.
func Actors() []Actor {
	return []Actor{Main, PostStart, StartupProbe, ReadinessProbe, LivenessProbe, PreStop}
}

// Index is the place of the actor among [Actors]; -1 if it is none of them.
func (a Actor) Index() int {
	switch a {
	case Main:
		return 0
	case PostStart:
		return 1
	case StartupProbe:
		return 2
	case ReadinessProbe:
		return 3
	case LivenessProbe:
		return 4
	case PreStop:
		return 5
	}
	return -1
}

// IsProbe reports whether the actor is one of the three probes.
func (a Actor) IsProbe() bool {
	return a == StartupProbe || a == ReadinessProbe || a == LivenessProbe
}

// IsHook reports whether the actor is one of the two lifecycle hooks.
func (a Actor) IsHook() bool { return a == PostStart || a == PreStop }

// MarkKind says what a line marks in the run of the process that wrote it.
type MarkKind uint8

// The marks of grammar 1. The zero value is not a mark.
const (
	_      MarkKind = iota
	Begin           // the first line of a process
	Tick            // the process is running; a line without a mark is a tick
	Signal          // the process received a signal
	End             // the last line of a process, written before it exits
)

// String returns the word of the grammar.
func (k MarkKind) String() string {
	switch k {
	case Begin:
		return "begin"
	case Tick:
		return "tick"
	case Signal:
		return "signal"
	case End:
		return "end"
	}
	return "no mark"
}

// Mark is the part of a line after its actor.
type Mark struct {
	Kind MarkKind
	// N is the number of a tick ("tick 3") or the exit code of an end
	// ("end 0"); -1 where the line gives none.
	N int
	// Signal is the name of a signal without its SIG prefix ("TERM"), and From who sent it.
	Signal string
	From   Sender
}

// Sender is who sent a signal. The zero value means that the line does not say.
type Sender uint8

// The senders.
const (
	_       Sender = iota
	Inside         // a process of the Pod
	Outside        // somebody outside of the PID namespace, as the container runtime is
)

// String returns the word of the grammar; it is empty where the line does not say.
func (s Sender) String() string {
	switch s {
	case Inside:
		return "inside"
	case Outside:
		return "outside"
	}
	return ""
}

// NoRun is the Run of a line that does not say which instance wrote it.
const NoRun = -1

// Line is one line of the shared log.
type Line struct {
	// Time is the writer's own stamp: a bound for rules that have one, never
	// an order. Its resolution is whole seconds where the line was stamped by
	// date(1).
	Time      time.Time
	Container string
	// Run counts the instances of a container from 0; NoRun where the line
	// does not say.
	Run   int
	Actor Actor
	Mark  Mark
	// Whole tells that the stamp has whole seconds only.
	Whole bool
}

// String returns the line without its time stamp, as cases and explanations
// name it: "container1#0 / post start hook: end 0".
func (l Line) String() string {
	var b strings.Builder
	b.WriteString(l.Container)
	if l.Run != NoRun {
		b.WriteByte('#')
		b.WriteString(strconv.Itoa(l.Run))
	}
	b.WriteString(" / ")
	b.WriteString(string(l.Actor))
	switch {
	case l.Mark.Kind == Tick && l.Mark.N < 0: // an unmarked line says as much
	case l.Mark.Kind == Signal:
		b.WriteString(": signal " + l.Mark.Signal)
		if l.Mark.From != 0 {
			b.WriteString(" from " + l.Mark.From.String())
		}
	default:
		b.WriteString(": " + l.Mark.Kind.String())
		if l.Mark.N >= 0 {
			b.WriteString(" " + strconv.Itoa(l.Mark.N))
		}
	}
	return b.String()
}

// Format returns the whole line of grammar 1, without a newline.
func (l Line) Format() string {
	return l.Time.UTC().Format(time.RFC3339Nano) + ": " + l.String()
}

// date(1) in the C locale pads the day with a blank; the zone may be any
// abbreviation. Both layouts take one or two digits for the day.
const dateLayout = "Mon Jan _2 15:04:05 MST 2006"

// maxNumber bounds the numbers of a line, so that a damaged one cannot pass for
// an absurd count.
const maxNumber = 1_000_000_000

// ParseLine reads one line of the shared log, without its newline. The error
// says which part does not fit and what was expected there.
func ParseLine(s string) (Line, error) {
	l := Line{Run: NoRun}
	stamp, rest, err := cutStamp(s, &l)
	if err != nil {
		return Line{}, err
	}
	who, what, ok := strings.Cut(rest, " / ")
	if !ok {
		return Line{}, fmt.Errorf("no %q between container and actor in %q", " / ", clip(rest))
	}
	if l.Container, l.Run, err = parseContainer(who); err != nil {
		return Line{}, err
	}
	actor, mark, marked := strings.Cut(what, ": ")
	if l.Actor, err = parseActor(actor); err != nil {
		return Line{}, err
	}
	l.Mark = Mark{Kind: Tick, N: -1}
	if marked {
		if l.Mark, err = parseMark(mark); err != nil {
			return Line{}, err
		}
	}
	if l.Mark.Kind == Signal && l.Actor.IsProbe() {
		return Line{}, fmt.Errorf("a probe writes no %q", "signal")
	}
	if l.Time, err = parseStamp(stamp); err != nil {
		return Line{}, err
	}
	return l, nil
}

// cutStamp splits at the first ": " after the stamp. A stamp of date(1) holds
// colons but no colon followed by a blank, as does RFC 3339.
func cutStamp(s string, l *Line) (stamp, rest string, err error) {
	stamp, rest, ok := strings.Cut(s, ": ")
	if !ok {
		return "", "", fmt.Errorf("no time stamp followed by %q in %q", ": ", clip(s))
	}
	l.Whole = strings.IndexByte(stamp, '.') < 0
	return stamp, rest, nil
}

// ParseTime reads a time as it stands at the beginning of a line: the output of date(1) in the C
// locale, or RFC 3339 with up to 9 decimals.
func ParseTime(s string) (time.Time, error) { return parseStamp(s) }

func parseStamp(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, fmt.Errorf("empty time stamp")
	}
	if s[0] < '0' || s[0] > '9' {
		if t, ok := parseDate(s); ok {
			return t, nil
		}
		return time.Time{}, fmt.Errorf("time stamp %q is not the output of date(1) in the C locale", clip(s))
	}
	if t, ok := parseUTC(s); ok {
		return t, nil
	}
	bad := func() (time.Time, error) {
		return time.Time{}, fmt.Errorf("time stamp %q is not RFC 3339 with up to 9 decimals", clip(s))
	}
	if strings.IndexByte(s, ',') >= 0 { // time.Parse takes it for a point
		return bad()
	}
	if i := strings.IndexByte(s, '.'); i >= 0 {
		n := 0
		for i+1+n < len(s) && s[i+1+n] >= '0' && s[i+1+n] <= '9' {
			n++
		}
		if n == 0 || n > 9 {
			return bad()
		}
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return bad()
	}
	return t, nil
}

// parseDate reads the output of date(1). It takes the common case, UTC, apart
// by itself: a log has one stamp a line, and time.Parse would be most of the
// work of reading it.
func parseDate(s string) (time.Time, bool) {
	const shape = "Thu Dec 21 10:40:51 UTC 2023"
	if len(s) != len(shape) || s[19:25] != shape[19:25] || s[13] != ':' || s[16] != ':' || s[3] != ' ' || s[7] != ' ' || s[10] != ' ' {
		t, err := time.Parse(dateLayout, s)
		return t, err == nil
	}
	month := strings.Index("JanFebMarAprMayJunJulAugSepOctNovDec", s[4:7])
	day, ok1 := twoDigits(s[8:10], true)
	hour, ok2 := twoDigits(s[11:13], false)
	minute, ok3 := twoDigits(s[14:16], false)
	second, ok4 := twoDigits(s[17:19], false)
	century, ok5 := twoDigits(s[24:26], false)
	year, ok6 := twoDigits(s[26:28], false)
	weekday := strings.Index("SunMonTueWedThuFriSat", s[:3])
	if month < 0 || month%3 != 0 || weekday < 0 || weekday%3 != 0 || !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || !ok6 || hour > 23 || minute > 59 || second > 59 {
		return time.Time{}, false
	}
	at, ok := unixDay(100*century+year, month/3+1, day)
	return time.Unix(at*86400+int64(hour*3600+minute*60+second), 0).UTC(), ok
}

// twoDigits reads a number of two digits; a blank may stand for a leading zero
// where date(1) pads with one.
func twoDigits(s string, padded bool) (int, bool) {
	hi, lo := s[0], s[1]
	if padded && hi == ' ' {
		hi = '0'
	}
	if hi < '0' || hi > '9' || lo < '0' || lo > '9' {
		return 0, false
	}
	return 10*int(hi-'0') + int(lo-'0'), true
}

func parseContainer(s string) (name string, run int, err error) {
	name, num, numbered := strings.Cut(s, "#")
	if !isLabel(name) {
		return "", 0, fmt.Errorf("%q is not a container name", clip(name))
	}
	if !numbered {
		return name, NoRun, nil
	}
	run, err = parseNumber(num)
	if err != nil {
		return "", 0, fmt.Errorf("run %q of container %q is not a number counted from 0", clip(num), name)
	}
	return name, run, nil
}

func parseActor(s string) (Actor, error) {
	switch a := Actor(s); a {
	case Main, PostStart, PreStop, StartupProbe, ReadinessProbe, LivenessProbe:
		return a, nil
	}
	return "", fmt.Errorf("%q is not an actor; an actor is main, post start hook, pre stop hook, startup probe, readiness probe or liveness probe", clip(s))
}

func parseMark(s string) (Mark, error) {
	word, arg, has := strings.Cut(s, " ")
	switch word {
	case "begin":
		if !has {
			return Mark{Kind: Begin, N: -1}, nil
		}
	case "tick", "end":
		kind := Tick
		if word == "end" {
			kind = End
		}
		if !has {
			return Mark{Kind: kind, N: -1}, nil
		}
		if n, err := parseNumber(arg); err == nil && (kind == Tick || n <= 255) {
			return Mark{Kind: kind, N: n}, nil
		}
	case "signal":
		name, who, told := strings.Cut(arg, " from ")
		from, known := senders[who]
		if has && isSignal(name) && told == known {
			return Mark{Kind: Signal, N: -1, Signal: name, From: from}, nil
		}
	}
	return Mark{}, fmt.Errorf("%q is not a mark; a mark is begin, tick [n], signal NAME [from inside|outside] or end [exit code]", clip(s))
}

// senders are the words for who sent a signal.
var senders = map[string]Sender{Inside.String(): Inside, Outside.String(): Outside}

func parseNumber(s string) (int, error) {
	if s == "" || len(s) > 1 && s[0] == '0' {
		return 0, fmt.Errorf("%q is not a number", clip(s))
	}
	n := 0
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return 0, fmt.Errorf("%q is not a number", clip(s))
		}
		if n = 10*n + int(s[i]-'0'); n > maxNumber {
			return 0, fmt.Errorf("%q is too large", clip(s))
		}
	}
	return n, nil
}

// isLabel reports whether s is a DNS label, as every container name is.
func isLabel(s string) bool {
	if s == "" || len(s) > 63 || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-') {
			return false
		}
	}
	return true
}

func isSignal(s string) bool {
	if s == "" || len(s) > 16 {
		return false
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; !(c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '-') {
			return false
		}
	}
	return true
}

// clip keeps an error readable when the line is not.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
