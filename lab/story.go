package lab

// Story is what a report says in words. The experiment writes it from its own
// numbers; the report only lays it out.
type Story struct {
	Headline string
	Lede     string
	Panels   []Panel
	Sections []Section
	Caveats  []string
}

// Panel sets the doors side by side under one question.
type Panel struct {
	Question string
	Values   []Value
	Note     string
}

// Value is one number of a panel.
type Value struct {
	Label string
	Text  string
	Mood  string // good, bad or plain
}

// Section is a stretch of the report.
type Section struct {
	Heading    string
	Paragraphs []string
	Chart      *Chart
	Caveat     string // stands right under the chart
}
