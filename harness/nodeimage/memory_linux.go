package nodeimage

import "golang.org/x/sys/unix"

// memory is that of this machine, in bytes; 0 if it does not say.
func memory() uint64 {
	var i unix.Sysinfo_t
	if unix.Sysinfo(&i) != nil {
		return 0
	}
	return uint64(i.Totalram) * uint64(i.Unit)
}
