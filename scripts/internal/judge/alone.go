package judge

import (
	"errors"
	"flag"
	"time"

	"github.com/podorder/podorder/reference/trace"
)

// logFlags are the flags that say what is known beside a log.
func (o *options) logFlags(fs *flag.FlagSet) {
	told := func(name, usage string, set func(string) error) {
		fs.Func(name, usage, func(s string) error {
			o.told = true
			return set(s)
		})
	}
	told("deleted-at", "of a log alone: the `time` at which the Pod was deleted, as date(1) writes it or in RFC 3339", func(s string) (err error) {
		o.known.Deleted, err = trace.ParseTime(s)
		return err
	})
	told("grace", "of a log alone: the grace period that the Pod was ended with, a `duration` (30s)", func(s string) error {
		d, err := time.ParseDuration(s)
		if err == nil && d < 0 {
			err = errors.New("it is negative")
		}
		o.known.Grace = &d
		return err
	})
	told("assume", "of a log alone: `what` is taken for granted; nothing, or what is ordinary (the default): the Pod's own grace period, and no fault of the node", func(s string) error {
		if s != "nothing" && s != "ordinary" {
			return errors.New("it is neither nothing nor ordinary")
		}
		o.known.Nothing = s == "nothing"
		return nil
	})
}
