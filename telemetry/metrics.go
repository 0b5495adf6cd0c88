package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Kind is how a metric behaves over time.
type Kind string

const (
	Counter   Kind = "counter"
	Gauge     Kind = "gauge"
	Histogram Kind = "histogram"
)

// Metric describes one metric of Plimsoll, for the reference table.
type Metric struct {
	Name   string
	Kind   Kind
	Labels []string
	Help   string
}

// metric is a Metric and the descriptor that carries its samples.
type metric struct {
	Metric
	desc *prometheus.Desc
}

func define(kind Kind, name, help string, labels ...string) metric {
	return metric{
		Metric: Metric{Name: name, Kind: kind, Labels: labels, Help: help},
		desc:   prometheus.NewDesc(name, help, labels, nil),
	}
}

// sample makes one sample of a counter or gauge.
func (m *metric) sample(value float64, labels ...string) prometheus.Metric {
	kind := prometheus.GaugeValue
	if m.Kind == Counter {
		kind = prometheus.CounterValue
	}
	return prometheus.MustNewConstMetric(m.desc, kind, value, labels...)
}

// metrics are all metrics of this package, each made once.
type metrics struct {
	uptime, draining                                                       metric
	slots, workers, used, running, waiting, waitingLimit, headAge          metric
	expected, margin, mode, broken, stale                                  metric
	classRunning, classUsed, classWaiting, classWaitingLimit, classHeadAge metric
	reserve, deadline, objective                                           metric
	arrivals, calls, refused, wouldRefuse                                  metric
	wait, run                                                              metric
	proxy                                                                  proxyMetrics
}

func newMetrics() *metrics {
	const pool, class = "pool", "class"
	return &metrics{
		uptime:   define(Gauge, "plimsoll_uptime_seconds", "Time since the gate was made."),
		draining: define(Gauge, "plimsoll_draining", "1 while the gate refuses new calls because it is shutting down."),

		slots:        define(Gauge, "plimsoll_pool_slots", "Units that may be out at once.", pool),
		workers:      define(Gauge, "plimsoll_pool_workers", "Units that the protected thing really works on at once.", pool),
		used:         define(Gauge, "plimsoll_pool_used_slots", "Units that are out.", pool),
		running:      define(Gauge, "plimsoll_pool_running_calls", "Calls that run, held ones included.", pool),
		waiting:      define(Gauge, "plimsoll_pool_waiting_calls", "Calls that wait.", pool),
		waitingLimit: define(Gauge, "plimsoll_pool_waiting_limit", "Calls that may wait.", pool),
		headAge:      define(Gauge, "plimsoll_pool_head_age_seconds", "How long the oldest waiting call has waited.", pool),
		expected:     define(Gauge, "plimsoll_pool_expected_seconds", "Expected time of a call, configured or learnt; 0 while unknown.", pool, "source"),
		margin:       define(Gauge, "plimsoll_pool_margin_seconds", "Margin on predicted finishes, configured or learnt.", pool, "source"),
		mode:         define(Gauge, "plimsoll_pool_mode", "1 for the mode that the pool is in.", pool, "mode"),
		broken:       define(Gauge, "plimsoll_pool_broken", "1 after an internal error: the pool lets everything through.", pool),
		stale:        define(Counter, "plimsoll_pool_stale_releases_total", "Releases of tickets that had been released already.", pool),

		classRunning:      define(Gauge, "plimsoll_class_running_calls", "Calls of the class that run.", pool, class),
		classUsed:         define(Gauge, "plimsoll_class_used_slots", "Units that calls of the class hold.", pool, class),
		classWaiting:      define(Gauge, "plimsoll_class_waiting_calls", "Calls of the class that wait.", pool, class),
		classWaitingLimit: define(Gauge, "plimsoll_class_waiting_limit", "Calls of the class that may wait; -1 when only the pool's bound holds.", pool, class),
		classHeadAge:      define(Gauge, "plimsoll_class_head_age_seconds", "How long the class's oldest waiting call has waited.", pool, class),
		reserve:           define(Gauge, "plimsoll_class_reserved_slots", "Units that no other class takes.", pool, class),
		deadline:          define(Gauge, "plimsoll_class_deadline_seconds", "Deadline of the class; 0 for none.", pool, class),
		objective:         define(Gauge, "plimsoll_class_objective_ratio", "Share of the class's arrivals that should end ok in time; 0 when the class may be lost.", pool, class),

		arrivals:    define(Counter, "plimsoll_arrivals_total", "Calls that have knocked.", pool, class),
		calls:       define(Counter, "plimsoll_calls_total", "Calls that have ended, by outcome, refused ones included.", pool, class, "outcome"),
		refused:     define(Counter, "plimsoll_refused_total", "Calls that were refused and never ran, by reason.", pool, class, "reason"),
		wouldRefuse: define(Counter, "plimsoll_shadow_refused_total", "Calls that would have been refused, and ran, in shadow mode, by reason.", pool, class, "reason"),

		wait: define(Histogram, "plimsoll_wait_seconds", "How long the calls that ran had waited.", pool, class),
		run:  define(Histogram, "plimsoll_run_seconds", "How long calls ran, from their start to the end of the answer.", pool, class),

		proxy: newProxyMetrics(),
	}
}

// gate lists the metrics that every collector has.
func (m *metrics) gate() []*metric {
	return []*metric{
		&m.uptime, &m.draining,
		&m.slots, &m.workers, &m.used, &m.running, &m.waiting, &m.waitingLimit, &m.headAge,
		&m.expected, &m.margin, &m.mode, &m.broken, &m.stale,
		&m.classRunning, &m.classUsed, &m.classWaiting, &m.classWaitingLimit, &m.classHeadAge,
		&m.reserve, &m.deadline, &m.objective,
		&m.arrivals, &m.calls, &m.refused, &m.wouldRefuse, &m.wait, &m.run,
	}
}

// Metrics lists every metric that the package can export, in the order of the
// reference.
func Metrics() []Metric {
	m := newMetrics()
	var out []Metric
	for _, d := range append(m.gate(), m.proxy.all()...) {
		out = append(out, d.Metric)
	}
	return out
}
