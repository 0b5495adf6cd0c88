package proxy

import "sync"

// held are the calls that were given up by those who wait for an answer and
// still take their slot.
type held struct {
	mu    sync.Mutex
	calls map[*exchange]struct{}
}

func (h *held) add(x *exchange) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.calls == nil {
		h.calls = make(map[*exchange]struct{})
	}
	h.calls[x] = struct{}{}
}

func (h *held) remove(x *exchange) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.calls, x)
}

// close breaks all of them off, as at the end of the time that they are held.
// An exchange's own lock comes before this one.
func (h *held) close() {
	h.mu.Lock()
	calls := make([]*exchange, 0, len(h.calls))
	for x := range h.calls {
		calls = append(calls, x)
	}
	h.mu.Unlock()
	for _, x := range calls {
		x.mu.Lock()
		x.abortLocked(errHeld)
		x.mu.Unlock()
	}
}
