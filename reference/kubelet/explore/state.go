package explore

// most is how many containers a tiny Pod has at most.
const most = 4

// state is the whole world of a tiny Pod.
type state struct {
	is    [most]newest
	entry [most]bool // the container has an entry in the back-off list

	seen  [most]seen // the newest snapshot
	fresh bool       // it is newer than the end of the worker's last call
	shown [most]int8 // the instance that the published status shows running; -1 if none

	at       place
	finished bool       // the computed phase is terminal
	had      [most]bool // the snapshot of this sync had an exited instance
	victims  [most]bool // to be killed before the starts
	kill     [most]step // where the kill of each container is
	starts   [most]bool // to be started: in spec order
	part     part       // where the start of the first of them is
}

// newest is the newest instance of a container.
type newest struct {
	run        int8 // -1: there is none; the number that it has or will take
	wrote      bool // it has taken it
	again      bool // it is not the first one
	main       stage
	failed     bool  // it exited with something else than 0
	term, told bool  // TERM was sent; and written down
	post, pre  stage // the processes of its hooks
	probes     [3]stage
}

// seen is what a snapshot says of a container.
type seen struct {
	run                    int8
	running, failed, again bool
}

// stage is where a process is.
type stage uint8

const (
	absent  stage = iota
	silent        // it runs and has not written its first line
	begun         //
	ended         // it has written its last line: success
	failing       // the same: failure
	gone          // the kubelet knows how it ended
	bad           // the same: failure
)

// place is where the worker is.
type place uint8

const (
	idle    place = iota
	killing       // single containers
	natural       // the whole Pod, within a sync
	starting
	leaving // terminating has published its status
	terminating
	done
)

// part is where a start is.
type part uint8

const (
	create part = iota
	callHook
	inHook
	hookFailed
)

// step is where a kill is.
type step uint8

const (
	none step = iota
	called
	inPreStop
	waits // for its turn
	termed
	stoppedNow
)

func (s *state) all(x *explorer, f func(c int)) {
	for c := range x.all {
		f(c)
	}
}

// forget drops the snapshot, which is not looked at again.
func (s state) forget() state {
	s.fresh = false
	for c := range s.seen {
		s.seen[c] = seen{run: -1}
	}
	return s
}

// ends ends a call of the worker.
func (s state) ends() state {
	s.at, s.part = idle, create
	s.had, s.victims, s.kill, s.starts = [most]bool{}, [most]bool{}, [most]step{}, [most]bool{}
	return s.forget()
}
