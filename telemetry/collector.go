package telemetry

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/plimsoll-go/plimsoll"
)

// Collector turns the state of a gate into metrics at every scrape.
type Collector struct {
	status func() plimsoll.Status
	proxy  func() Proxy
	m      *metrics
}

// NewCollector makes a collector. status is mostly [plimsoll.Gate.Status];
// proxy may be nil, when there is none. Both are called once a scrape, from any
// goroutine.
func NewCollector(status func() plimsoll.Status, proxy func() Proxy) *Collector {
	return &Collector{status: status, proxy: proxy, m: newMetrics()}
}

// Describe implements [prometheus.Collector].
func (c *Collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range c.m.gate() {
		out <- d.desc
	}
	if c.proxy == nil {
		return
	}
	for _, d := range c.m.proxy.all() {
		out <- d.desc
	}
}

// Collect implements [prometheus.Collector].
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	var p Proxy
	if c.proxy != nil {
		p = c.proxy() // before the gate, which has counted first what both count
	}
	s := c.status()
	out <- c.m.uptime.sample(s.Uptime.Seconds())
	out <- c.m.draining.sample(truth(s.Draining))
	for i := range s.Pools {
		c.pool(out, &s.Pools[i])
	}
	if c.proxy != nil {
		c.m.proxy.collect(out, &p, s.Pools)
	}
}

func (c *Collector) pool(out chan<- prometheus.Metric, p *plimsoll.PoolStatus) {
	m := c.m
	out <- m.slots.sample(float64(p.Slots), p.Name)
	out <- m.workers.sample(float64(p.Workers), p.Name)
	out <- m.used.sample(float64(p.Used), p.Name)
	out <- m.running.sample(float64(p.Running), p.Name)
	out <- m.waiting.sample(float64(p.Waiting), p.Name)
	out <- m.waitingLimit.sample(float64(p.WaitingLimit), p.Name)
	out <- m.headAge.sample(p.HeadAge.Seconds(), p.Name)
	out <- m.expected.sample(p.Expected.Seconds(), p.Name, source(p.ExpectedLearnt))
	out <- m.margin.sample(p.Margin.Seconds(), p.Name, source(p.MarginLearnt))
	for _, mode := range []plimsoll.Mode{plimsoll.Enforce, plimsoll.Shadow, plimsoll.Off} {
		out <- m.mode.sample(truth(p.Mode == mode), p.Name, mode.String())
	}
	out <- m.broken.sample(truth(p.Broken), p.Name)
	out <- m.stale.sample(float64(p.Stale), p.Name)
	for i := range p.Classes {
		c.class(out, p.Name, &p.Classes[i])
	}
}

func (c *Collector) class(out chan<- prometheus.Metric, pool string, k *plimsoll.ClassStatus) {
	m := c.m
	out <- m.classRunning.sample(float64(k.Running), pool, k.Name)
	out <- m.classUsed.sample(float64(k.Used), pool, k.Name)
	out <- m.classWaiting.sample(float64(k.Waiting), pool, k.Name)
	out <- m.classWaitingLimit.sample(float64(k.WaitingLimit), pool, k.Name)
	out <- m.classHeadAge.sample(k.HeadAge.Seconds(), pool, k.Name)
	out <- m.reserve.sample(float64(k.Reserve), pool, k.Name)
	out <- m.deadline.sample(k.Deadline.Seconds(), pool, k.Name)
	out <- m.objective.sample(k.Objective, pool, k.Name)
	out <- m.arrivals.sample(float64(k.Arrived), pool, k.Name)
	// From 1: 0 is "has not ended" and "no reason".
	for o := 1; o < len(k.Outcomes); o++ {
		out <- m.calls.sample(float64(k.Outcomes[o]), pool, k.Name, plimsoll.Outcome(o).String())
	}
	for r := 1; r < len(k.Refused); r++ {
		out <- m.refused.sample(float64(k.Refused[r]), pool, k.Name, plimsoll.Reason(r).String())
		out <- m.wouldRefuse.sample(float64(k.WouldRefuse[r]), pool, k.Name, plimsoll.Reason(r).String())
	}
	out <- m.wait.histogram(&k.Wait, pool, k.Name)
	out <- m.run.histogram(&k.Run, pool, k.Name)
}

// histogram makes one sample of a histogram, cumulative as Prometheus wants it.
func (m *metric) histogram(h *plimsoll.Histogram, labels ...string) prometheus.Metric {
	buckets := make(map[float64]uint64, len(plimsoll.HistogramBounds))
	var sum uint64
	for i, bound := range plimsoll.HistogramBounds {
		sum += h.Counts[i]
		buckets[bound.Seconds()] = sum
	}
	sum += h.Counts[len(plimsoll.HistogramBounds)]
	return prometheus.MustNewConstHistogram(m.desc, sum, h.Sum.Seconds(), buckets, labels...)
}

func source(learnt bool) string {
	if learnt {
		return "learnt"
	}
	return "configured"
}

// Registry makes a registry with c, the Go runtime's and the process's metrics.
func Registry(c *Collector) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(c, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// Handler serves the registry. At most four scrapes run at once, so that the
// page cannot become a load of its own.
func Handler(r *prometheus.Registry) http.Handler {
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}
