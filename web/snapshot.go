package web

// Source gives snapshots. It is asked from any goroutine, a few times a second
// at most, and must not block.
type Source interface {
	Snapshot() Snapshot
}

// State is how far something has come.
type State string

// States of a snapshot and of a run.
const (
	Pending State = "pending"
	Running State = "running"
	Done    State = "done"
	Failed  State = "failed"
)

// Snapshot is one consistent look. What is a pointer may be nil: the figure is
// not known yet, and the page shows a dash.
type Snapshot struct {
	// Title and Lead say what is shown.
	Title string `json:"title"`
	Lead  string `json:"lead"`
	State State  `json:"state"`
	// Doing says in a few words what happens now.
	Doing string `json:"doing,omitempty"`
	// Error says why State is failed.
	Error string `json:"error,omitempty"`
	// Headline is filled in by the page; see [Headline].
	Headline Words `json:"headline"`
	// Facts are the settings, in the order in which they are shown.
	Facts []Fact `json:"facts"`
	// Deadline is the clients' patience in milliseconds; 0 means endless.
	Deadline float64 `json:"deadline_ms"`
	// Classes are in order of rank, the most critical first.
	Classes []Class `json:"classes"`
	// Runs stand side by side. A page over one live gate has one.
	Runs []Run `json:"runs"`
	// Verdicts are sentences, once there is something to say.
	Verdicts []Words `json:"verdicts,omitempty"`
	// Notes are caveats; they stand below the figures.
	Notes []string `json:"notes,omitempty"`
}

// Words are a sentence and how it is meant.
type Words struct {
	Tone Tone   `json:"tone"`
	Text string `json:"text"`
}

// Tone is how a sentence is meant. It is never told by colour alone.
type Tone string

const (
	Calm  Tone = "calm"  // nothing is lost
	Shed  Tone = "shed"  // something is lost, as was decided
	Alarm Tone = "alarm" // what should not be lost is
)

// Fact is one setting.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Class is a criticality.
type Class struct {
	Name string `json:"name"`
	// Objective is the share of arrivals that should end well, in percent; 0
	// means that the class may be lost.
	Objective float64 `json:"objective_pct"`
}

// Run is one gate at work, or one that was or will be.
type Run struct {
	ID      string `json:"id"`
	Title   string `json:"title"`
	Summary string `json:"summary"`
	State   State  `json:"state"`
	// Elapsed and Duration are in seconds; Duration 0 means that it has no end.
	Elapsed  float64 `json:"elapsed_s"`
	Duration float64 `json:"duration_s"`
	Pool     Pool    `json:"pool"`
	// Window is the width of the windows of all series, in seconds.
	Window float64 `json:"window_s"`
	// Classes are in the order of Snapshot.Classes.
	Classes []RunClass `json:"classes"`
	// Refused are counts by reason and class, the largest first.
	Refused []Refused `json:"refused"`
	// SheddingFor is for how many seconds something has been refused; nil when
	// nothing was in the last second.
	SheddingFor *float64 `json:"shedding_for_s"`
	// Goodput is in calls a second.
	Goodput          *float64 `json:"goodput_rps"`
	PredictedGoodput *float64 `json:"predicted_goodput_rps"`
	// SurvivorP99 is in milliseconds, over all classes.
	SurvivorP99 *float64 `json:"survivor_p99_ms"`
	// AdmittedPct is the success of those who were not refused.
	AdmittedPct *float64 `json:"admitted_pct"`
}

// Pool is how full the place is, in units and calls.
type Pool struct {
	Slots        int     `json:"slots"`
	Used         int     `json:"used"`
	Waiting      int     `json:"waiting"`
	WaitingLimit int     `json:"waiting_limit"`
	HeadAge      float64 `json:"head_age_ms"`
}

// RunClass is what became of one class in one run.
type RunClass struct {
	Name     string `json:"name"`
	Arrivals uint64 `json:"arrivals"`
	OK       uint64 `json:"ok"`
	Waiting  int    `json:"waiting"` // now
	// SuccessPct counts everybody who asked; PredictedPct is what was foretold.
	SuccessPct   *float64 `json:"success_pct"`
	PredictedPct *float64 `json:"predicted_pct"`
	P95          *float64 `json:"p95_ms"`
	P99          *float64 `json:"p99_ms"`
	// Series and Predicted are success by window of arrival; nil where a window
	// is not over, or nobody came.
	Series    []*float64 `json:"series"`
	Predicted []*float64 `json:"predicted"`
}

// Refused counts refusals of one class for one reason.
type Refused struct {
	Reason string `json:"reason"`
	Class  string `json:"class"`
	Count  uint64 `json:"count"`
}
