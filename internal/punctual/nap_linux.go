package punctual

import (
	"time"

	"golang.org/x/sys/unix"
)

// slack is how late the kernel is by default when it ends a sleep, and a
// little: the nap ends that much early, and the rest is yielded.
const slack = 70 * time.Microsecond

// nap sleeps for most of d in the kernel. A signal may end it early; the
// caller yields for the rest.
func nap(d time.Duration) {
	if d <= slack {
		return
	}
	ts := unix.NsecToTimespec(int64(d - slack))
	_ = unix.Nanosleep(&ts, nil)
}
