package proxy

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll"
)

// In shadow and off the proxy is a proxy: a service that is slower than the
// class's deadline is answered for all the same, and nobody is refused. The
// client's own deadline still holds.
func TestNothingIsCutThatIsNotEnforced(t *testing.T) {
	for _, mode := range []plimsoll.Mode{plimsoll.Shadow, plimsoll.Off} {
		t.Run(mode.String(), func(t *testing.T) {
			const calls = 8
			arrived := make(chan bool, calls)
			answer := make(chan bool)
			gate := onePool(1, 2, 20*time.Millisecond, 5*time.Millisecond)
			gate.Pools[0].Mode = mode
			b := newBench(t, setup{gate: gate, handler: func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/hint" {
					<-r.Context().Done()
					return
				}
				arrived <- true
				<-answer
				w.Write([]byte("late and whole"))
			}})
			var all sync.WaitGroup
			for range calls {
				all.Go(func() {
					if res, body, err := b.try(t.Context(), "GET", "/", nil); err != nil || res.StatusCode != 200 || body != "late and whole" {
						t.Errorf("%v %v %q", err, res, body)
					}
				})
			}
			for range calls { // nobody is held back
				<-arrived
			}
			<-time.After(60 * time.Millisecond) // three deadlines
			close(answer)
			all.Wait()
			until(t, time.Second, "all of them ended late", func() bool { return b.outcomes(plimsoll.Late) == calls })
			if n := b.outcomes(plimsoll.Refused); n != 0 {
				t.Errorf("%d counted as refused", n)
			}
			if res, _ := b.do("GET", "/hint", nil, "Plimsoll-Timeout-Ms", "30"); res.StatusCode != http.StatusGatewayTimeout {
				t.Errorf("the client's own deadline: %v", res.Status)
			}
		})
	}
}
