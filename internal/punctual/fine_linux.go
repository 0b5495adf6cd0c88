package punctual

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// early is how long before its instant a nap ends; the rest is yielded. It is
// about what the kernel and the scheduler need to wake a goroutine.
const early = 60 * time.Microsecond

// fine is a timer of the kernel, waited for like a socket. Without one (the
// system may have run out of descriptors) everything is left to yielding.
type fine struct {
	fd   int
	file *os.File
}

func openFine() fine {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return fine{}
	}
	return fine{fd, os.NewFile(uintptr(fd), "timerfd")}
}

func (f *fine) close() {
	if f.file != nil {
		_ = f.file.Close() // nothing is buffered in it
	}
}

// nap waits for most of d.
func (f *fine) nap(d time.Duration) {
	if d <= early || f.file == nil {
		return
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d - early))}
	if unix.TimerfdSettime(f.fd, 0, &spec, nil) != nil {
		return
	}
	var expirations [8]byte
	_, _ = f.file.Read(expirations[:]) // an error only means that more is yielded
}
