package proxy

import (
	"bufio"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// BenchmarkProxyPair is BenchmarkProxy in interleaved blocks, so that whatever
// else the machine does hits both alike. ratio is our throughput by that of
// the bare proxy; cpu-ratio is the processor time of the whole process, clients
// and upstream included, ours by the bare one's.
//
//	go test -run '^$' -bench BenchmarkProxyPair -benchtime 60000x ./proxy
func BenchmarkProxyPair(b *testing.B) {
	payload := []byte(strings.Repeat("x", 1024))
	upstream := serveBench(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write(payload) }))
	sides := [2]*pairSide{
		{name: "bare", clients: dialBench(b, serveBench(b, bareProxy(upstream)))},
		{name: "plimsoll", clients: dialBench(b, servePlimsoll(b, upstream, nil))},
	}
	const block = 2000
	for _, s := range sides { // connections and pools are warm
		s.run(b, block)
		s.took, s.cpu, s.n = 0, 0, 0
	}
	b.ResetTimer()
	for i := 0; i < max(b.N/block, 2); i++ {
		sides[i%2].run(b, block)
	}
	bare, ours := sides[0], sides[1]
	b.ReportMetric(bare.perSecond(), "bare-req/s")
	b.ReportMetric(ours.perSecond(), "plimsoll-req/s")
	b.ReportMetric(ours.perSecond()/bare.perSecond(), "ratio")
	if bare.cpu > 0 {
		b.ReportMetric(float64(bare.cpu.Nanoseconds())/float64(bare.n), "bare-cpu-ns")
		b.ReportMetric(float64(ours.cpu.Nanoseconds())/float64(ours.n), "plimsoll-cpu-ns")
		b.ReportMetric(float64(ours.cpu)/float64(ours.n)/(float64(bare.cpu)/float64(bare.n)), "cpu-ratio")
	}
}

type pairSide struct {
	name      string
	clients   []*benchClient
	n         int
	took, cpu time.Duration
}

func (s *pairSide) perSecond() float64 { return float64(s.n) / s.took.Seconds() }

func (s *pairSide) run(b *testing.B, n int) {
	start, cpu := time.Now(), processorTime()
	var all sync.WaitGroup
	for i, c := range s.clients {
		share := n / len(s.clients)
		if i < n%len(s.clients) {
			share++
		}
		all.Go(func() {
			for range share {
				if err := exchangeOnce(c.conn, c.in, benchRequest); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	s.took += time.Since(start)
	s.cpu += processorTime() - cpu
	s.n += n
}

type benchClient struct {
	conn net.Conn
	in   *bufio.Reader
}

func dialBench(b *testing.B, addr string) []*benchClient {
	b.Helper()
	var out []*benchClient
	for range 64 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { c.Close() })
		out = append(out, &benchClient{c, bufio.NewReaderSize(c, 4096)})
	}
	return out
}

var benchRequest = []byte("GET /some/path HTTP/1.1\r\nHost: bench\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n")
