package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// value is how one key is read.
type value interface {
	// read sets the value from n, or notes at path what is wrong with it. With
	// n nil the key was not given: sections set their defaults, others do nothing.
	read(r *reader, path string, n *node)
	// allowed says what is allowed, as the subject of "is allowed" and in the
	// reference.
	allowed() string
}

// plain is the text of a scalar, or a problem. Text in quotes is refused where
// quoted is false: there a number or a truth is meant. What has a unit may
// stand in quotes, as it must in JSON.
func (r *reader) plain(path string, n *node, v value, quoted bool) (string, bool) {
	if n.kind != scalarNode || n.quoted && !quoted {
		without := ""
		if n.quoted {
			without = " without quotes"
		}
		r.fail(path, n, "%s; %s%s is allowed", n.describe(), v.allowed(), without)
		return "", false
	}
	return n.text, true
}

// count is a whole number.
type count struct {
	to       *int
	min, max int
}

func (v count) allowed() string {
	return fmt.Sprintf("a whole number from %d to %d", v.min, v.max)
}

func (v count) read(r *reader, path string, n *node) {
	if n == nil {
		return
	}
	text, ok := r.plain(path, n, v, false)
	if !ok {
		return
	}
	digits := strings.TrimPrefix(text, "-")
	i, err := strconv.Atoi(text)
	switch {
	case !isDigits(digits) || len(digits) > 1 && digits[0] == '0':
		r.fail(path, n, "%s; %s is allowed", n.describe(), v.allowed())
	case err != nil || i < v.min || i > v.max: // err: too long for an int
		r.fail(path, n, "is %s; %s is allowed", clip(text), v.allowed())
	default:
		*v.to = i
	}
}

// boolean is true or false.
type boolean struct{ to *bool }

func (boolean) allowed() string { return "true or false" }

func (v boolean) read(r *reader, path string, n *node) {
	if n == nil {
		return
	}
	text, ok := r.plain(path, n, v, false)
	switch {
	case !ok:
	case text == "true" || text == "false":
		*v.to = text == "true"
	default:
		r.fail(path, n, "%s; %s is allowed", n.describe(), v.allowed())
	}
}

// duration is a time with its unit. A min of 0 allows 0, also without a unit.
type duration struct {
	to       *time.Duration
	min, max time.Duration
}

func (v duration) allowed() string {
	return fmt.Sprintf("a duration from %s to %s", showDuration(v.min), showDuration(v.max))
}

func (v duration) read(r *reader, path string, n *node) {
	if n == nil {
		return
	}
	text, ok := r.plain(path, n, v, true)
	if !ok {
		return
	}
	d, wrong := parseDuration(text)
	switch {
	case wrong != "":
		r.fail(path, n, "%s; %s is allowed, such as 200ms, 1.5s or 2m", wrong, v.allowed())
	case d < v.min || d > v.max:
		r.fail(path, n, "is %s; %s is allowed", clip(text), v.allowed())
	default:
		*v.to = d
	}
}

// parseDuration reads a duration, or says what is wrong with it.
func parseDuration(text string) (d time.Duration, wrong string) {
	d, err := time.ParseDuration(text)
	if err == nil && !strings.HasPrefix(text, "+") {
		return d, ""
	}
	if isNumber(text) {
		return 0, fmt.Sprintf("is %s without a unit", clip(text))
	}
	number := strings.TrimLeft(text, "-0123456789.")
	unit := strings.TrimSpace(number)
	digits := text[:len(text)-len(number)]
	switch {
	case !isNumber(digits) || unit == "":
		return 0, fmt.Sprintf("is %q", clip(text))
	case unit != number && knownUnit(unit):
		return 0, fmt.Sprintf("is %q with a space before its unit", clip(text))
	case knownUnit(strings.TrimRight(unit, "0123456789.nuµmsh")) || knownUnit(unit):
		return 0, fmt.Sprintf("is %q, which is longer than 292 years or no duration at all", clip(text))
	}
	return 0, fmt.Sprintf("has the unit %q; ns, us, ms, s, m and h are units", clip(unit))
}

func knownUnit(s string) bool {
	switch s {
	case "ns", "us", "µs", "ms", "s", "m", "h":
		return true
	}
	return false
}

// showDuration is d as one would write it: 1m instead of 1m0s.
func showDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// margin is a duration, or one of two words for the gate's special values.
type margin struct{ to *time.Duration }

func (margin) allowed() string {
	return "learnt, none, or " + duration{nil, time.Microsecond, maxMargin}.allowed()
}

func (v margin) read(r *reader, path string, n *node) {
	if n == nil {
		return
	}
	switch {
	case n.kind == scalarNode && n.text == "learnt":
		*v.to = 0
	case n.kind == scalarNode && n.text == "none":
		*v.to = -1
	default:
		text, ok := r.plain(path, n, v, true)
		if !ok {
			return
		}
		d, wrong := parseDuration(text)
		if wrong == "" && (d < time.Microsecond || d > maxMargin) {
			wrong = "is " + clip(text)
		}
		if wrong != "" {
			r.fail(path, n, "%s; %s is allowed", wrong, v.allowed())
			return
		}
		*v.to = d
	}
}

// word is one of a closed set.
type word struct {
	words []string
	set   func(i int)
}

func (v word) allowed() string { return either(v.words) }

func (v word) read(r *reader, path string, n *node) {
	if n == nil {
		return
	}
	text, ok := r.plain(path, n, v, true)
	if !ok {
		return
	}
	for i, w := range v.words {
		if w == text {
			v.set(i)
			return
		}
	}
	r.fail(path, n, "is %q; %s is allowed%s", clip(text), v.allowed(), meant(text, v.words))
}

// either joins words as an English choice.
func either(words []string) string {
	switch n := len(words); n {
	case 0:
		return "nothing"
	case 1:
		return words[0]
	default:
		return strings.Join(words[:n-1], ", ") + " or " + words[n-1]
	}
}

// oneOf is a word that is kept as a string.
func oneOf(to *string, words ...string) word {
	return word{words, func(i int) { *to = words[i] }}
}

// share is a part of the whole, strictly between nothing and all.
type share struct{ to *float64 }

func (share) allowed() string {
	return "a share above 0% and below 100%, such as 99% or 0.99,"
}

func (v share) read(r *reader, path string, n *node) {
	if n == nil {
		return
	}
	text, ok := r.plain(path, n, v, true)
	if !ok {
		return
	}
	number, percent := strings.CutSuffix(text, "%")
	if !isNumber(number) {
		r.fail(path, n, "%s; %s is allowed", n.describe(), v.allowed())
		return
	}
	exponent := ""
	if percent {
		exponent = "e-2" // dividing would round twice: 99.9% is 0.999
	}
	f, err := strconv.ParseFloat(number+exponent, 64)
	switch {
	case err == nil && f > 0 && f < 1:
		*v.to = f
	case err == nil && f >= 1 && f < 100 && !percent && f > 1:
		r.fail(path, n, "is %s; %s is allowed; is %s%% meant?", clip(text), v.allowed(), clip(text))
	case f == 1:
		r.fail(path, n, "is %s, which leaves no room for a single failure; %s is allowed", clip(text), v.allowed())
	default:
		r.fail(path, n, "is %s; %s is allowed", clip(text), v.allowed())
	}
}

// size is a number of bytes with its unit.
type size struct {
	to  *int64
	max int64
}

func (v size) allowed() string {
	return fmt.Sprintf("a size from 0 to %s with its unit (B, KiB, MiB, GiB, kB, MB, GB)", showSize(v.max))
}

func (v size) read(r *reader, path string, n *node) {
	if n == nil {
		return
	}
	text, ok := r.plain(path, n, v, true)
	if !ok {
		return
	}
	unit := strings.TrimLeft(text, "0123456789")
	digits := text[:len(text)-len(unit)]
	factor := unitFactor(strings.TrimSpace(unit))
	i, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case isNumber(text) && text != "0":
		r.fail(path, n, "is %s without a unit; %s is allowed", clip(text), v.allowed())
	case text != "0" && (factor == 0 || digits == ""):
		r.fail(path, n, "%s; %s is allowed", n.describe(), v.allowed())
	case err != nil || text != "0" && i > math.MaxInt64/factor || i*factor > v.max:
		r.fail(path, n, "is %s; %s is allowed", clip(text), v.allowed())
	default:
		*v.to = i * factor
	}
}

func unitFactor(unit string) int64 {
	switch unit {
	case "B":
		return 1
	case "kB":
		return 1e3
	case "MB":
		return 1e6
	case "GB":
		return 1e9
	case "KiB":
		return 1 << 10
	case "MiB":
		return 1 << 20
	case "GiB":
		return 1 << 30
	}
	return 0
}

func showSize(n int64) string {
	switch {
	case n > 0 && n%(1<<30) == 0:
		return fmt.Sprintf("%dGiB", n>>30)
	case n > 0 && n%(1<<20) == 0:
		return fmt.Sprintf("%dMiB", n>>20)
	case n > 0 && n%(1<<10) == 0:
		return fmt.Sprintf("%dKiB", n>>10)
	}
	return fmt.Sprintf("%dB", n)
}
