package lab

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-go/plimsoll/internal/spelling"
)

// Experiment is a named experiment.
type Experiment struct {
	Name  string
	Title string
	Post  int    // its number in the series that it belongs to
	About string // one line
	// Settings are the constants that may be set, in the order in which they
	// are told to people.
	Settings []Setting
	// Prepare checks the settings and the length of the run, in milliseconds,
	// and returns the work. Everything that can be wrong is found here.
	Prepare func(set Settings, duration int64) (*Prepared, error)
}

// Setting is a constant that may be set.
type Setting struct {
	Key     string
	Default string
	Means   string
}

// Prepared is an experiment that may run.
type Prepared struct {
	// Facts are the derived numbers, known before the run.
	Facts []Fact
	// Golden says that the constants are those of the published tables.
	Golden bool
	// Do runs it. It tells progress, if that is not nil, what share of the
	// work is done, and returns the cause when ctx is done first.
	Do func(ctx context.Context, progress func(share float64)) (*Findings, error)
}

// Fact is a number with a name, for people.
type Fact struct{ Name, Value string }

// Findings are what an experiment found.
type Findings struct {
	Tables  []Table
	Charts  []Chart
	LeftOut []LeftOut
	Preview Preview
	Summary []string // lines for the terminal
	Story   Story
}

// LeftOut is a file that the experiment writes at other times, and why not this
// time. One of an earlier run is removed: it would be taken for this run's.
type LeftOut struct {
	File string `json:"file"` // base name
	Why  string `json:"why"`  // a sentence
}

// Preview is the table for the terminal: columns of the first table, with a
// blank line wherever the first column changes.
type Preview struct {
	Heads   []string
	Columns []int // of the first table
}

// Experiments are those that exist, in the order of their numbers.
func Experiments() []Experiment { return []Experiment{sloLoadControl()} }

// Find finds an experiment by its name.
func Find(name string) (Experiment, error) {
	all := Experiments()
	names := make([]string, len(all))
	for i, e := range all {
		if e.Name == name {
			return e, nil
		}
		names[i] = e.Name
	}
	return Experiment{}, fmt.Errorf("lab: no experiment %q; there is %s%s", name, strings.Join(names, ", "), spelling.Meant(name, names))
}

// Settings are constants that were set, by key, in the order given.
type Settings []Assignment

// Assignment is one constant with its value, or several if it is a list.
type Assignment struct {
	Key    string
	Values []string
}

// ParseSettings reads words of the form key=value,…: a piece after a comma that
// has no = of its own is one more value of the key before it, so that both
// a=1,b=2 and rates=90,130 mean what they look like. No key may be set twice.
func ParseSettings(words []string) (Settings, error) {
	var set Settings
	for _, word := range words {
		for i, piece := range strings.Split(word, ",") {
			key, value, found := strings.Cut(piece, "=")
			switch {
			case found && key != "":
				if slices.ContainsFunc(set, func(a Assignment) bool { return a.Key == key }) {
					return nil, fmt.Errorf("lab: %s is set twice", key)
				}
				set = append(set, Assignment{key, []string{value}})
			case found || i == 0:
				return nil, fmt.Errorf("lab: %q in %q sets nothing; allowed is key=value, or key=value,value for a list", piece, word)
			default:
				last := &set[len(set)-1]
				last.Values = append(last.Values, piece)
			}
		}
	}
	return set, nil
}

// Check says whether every key is one that the experiment knows.
func (e *Experiment) Check(set Settings) error {
	keys := make([]string, len(e.Settings))
	for i, s := range e.Settings {
		keys[i] = s.Key
	}
	for _, a := range set {
		if !slices.Contains(keys, a.Key) {
			return fmt.Errorf("lab: %s has no setting %q; there are %s%s", e.Name, a.Key, strings.Join(keys, ", "), spelling.Meant(a.Key, keys))
		}
	}
	return nil
}

// single is the one value of a constant that is no list.
func (a *Assignment) single() (string, error) {
	if len(a.Values) != 1 {
		return "", fmt.Errorf("lab: %s has %d values (%s); one is allowed", a.Key, len(a.Values), strings.Join(a.Values, ","))
	}
	return a.Values[0], nil
}
