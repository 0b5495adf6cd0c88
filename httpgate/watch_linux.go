package httpgate

import (
	"fmt"
	"os"
	"sync"
	"syscall"
)

const canWatch = true

// epoll watches sockets through an epoll instance of its own. Go's poller
// watches the same sockets for data and is not disturbed; it also watches the
// epoll instance, so that waiting costs one goroutine and no thread.
type epoll struct {
	file *os.File
	raw  syscall.RawConn
	done chan struct{}

	mu    sync.Mutex
	slots []slot
	free  []int32
}

type slot struct {
	gen  int32
	left func() // nil when the slot is free or has fired
}

func newWatcher() (watcher, error) {
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("httpgate: epoll_create: %w", err)
	}
	if err := syscall.SetNonblock(fd, true); err != nil { // else os.NewFile would not poll it
		syscall.Close(fd)
		return nil, fmt.Errorf("httpgate: epoll instance: %w", err)
	}
	e := &epoll{file: os.NewFile(uintptr(fd), "epoll"), done: make(chan struct{})}
	if e.raw, err = e.file.SyscallConn(); err != nil {
		e.file.Close()
		return nil, fmt.Errorf("httpgate: epoll instance: %w", err)
	}
	go e.run()
	return e, nil
}

func (e *epoll) add(c syscall.RawConn, left func()) (watchID, bool) {
	id := e.take(left)
	err := e.control(c, syscall.EPOLL_CTL_ADD, &syscall.EpollEvent{
		Events: syscall.EPOLLRDHUP | syscall.EPOLLONESHOT,
		Fd:     id.slot, // both are returned as they are; the socket's own
		Pad:    id.gen,  // number would be ambiguous once it is used again
	})
	if err != nil {
		e.release(id)
		return id, false
	}
	return id, true
}

func (e *epoll) remove(c syscall.RawConn, id watchID) {
	e.release(id)
	// A closed socket has left the instance by itself, and Control fails.
	_ = e.control(c, syscall.EPOLL_CTL_DEL, &syscall.EpollEvent{})
}

// control holds both descriptors while it uses their numbers.
func (e *epoll) control(c syscall.RawConn, op int, ev *syscall.EpollEvent) error {
	var err error
	outer := e.raw.Control(func(ep uintptr) {
		inner := c.Control(func(fd uintptr) {
			err = syscall.EpollCtl(int(ep), op, int(fd), ev)
		})
		if inner != nil {
			err = inner
		}
	})
	if outer != nil {
		return outer
	}
	return err
}

func (e *epoll) take(left func()) watchID {
	e.mu.Lock()
	defer e.mu.Unlock()
	if n := len(e.free); n > 0 {
		i := e.free[n-1]
		e.free = e.free[:n-1]
		e.slots[i].left = left
		return watchID{i, e.slots[i].gen}
	}
	e.slots = append(e.slots, slot{left: left})
	return watchID{int32(len(e.slots) - 1), 0}
}

func (e *epoll) release(id watchID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.slots[id.slot].gen++
	e.slots[id.slot].left = nil
	e.free = append(e.free, id.slot)
}

// fire takes what an event calls. The slot stays taken until its owner removes it.
func (e *epoll) fire(id watchID) func() {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := &e.slots[id.slot]
	if s.gen != id.gen {
		return nil
	}
	left := s.left
	s.left = nil
	return left
}

func (e *epoll) run() {
	defer close(e.done)
	var events [64]syscall.EpollEvent
	// The error says that the instance was closed.
	_ = e.raw.Read(func(fd uintptr) bool {
		for {
			n, err := syscall.EpollWait(int(fd), events[:], 0)
			if err == syscall.EINTR {
				continue
			}
			if err != nil {
				return true
			}
			for _, ev := range events[:n] {
				if left := e.fire(watchID{ev.Fd, ev.Pad}); left != nil {
					left()
				}
			}
			if n == 0 { // until the poller says that there is more
				return false
			}
		}
	})
}

func (e *epoll) close() {
	e.file.Close()
	<-e.done
}
