// Package shutdown ends a run in the same way whatever ends it: everything that was registered is cleaned up, once.
//
// [New] watches for SIGINT, SIGTERM and SIGHUP, for the end of whoever reads the output, and for the deadline of "go test", which would end the
// process without any cleanup. Each of them ends [Shutdown.Context], gives the run a moment to wind up on its own, and then cleans up. A panic
// does the same where [Shutdown.Recover] is deferred. A second signal stops the process at once, together with the processes it started.
//
//	s := shutdown.New(ctx, shutdown.Options{Timeout: timeout})
//	defer s.Recover()
//	s.OnEnd("cluster", provider.Destroy)
//	os.Exit(s.End(m.Run()))
//
// Left out on purpose: SIGKILL and a panic in a goroutine that does not defer Recover. What these leave is for a sweeper.
package shutdown
