package lab

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

var units = []struct {
	suffix string
	millis int64
}{
	{"ms", 1}, {"s", 1000}, {"m", 60_000}, {"h", 3_600_000}, {"", 1000},
}

// DurationForm says what ParseDuration takes, for messages and help.
const DurationForm = "a whole number with ms, s, m or h, from 1ms to 24h, such as 250ms or 5s; without a unit it is seconds"

var errDuration = errors.New("allowed is " + DurationForm)

// ParseDuration reads a length of time and returns it in milliseconds, 1 …
// MaxWindow: a whole number with ms, s, m or h, or with nothing, which means
// seconds. A leading + is accepted. The error says what was given and what is
// allowed.
func ParseDuration(s string) (int64, error) {
	ms, wrong := parseDuration(s)
	if wrong != "" {
		return 0, fmt.Errorf("lab: %q %s; %w", s, wrong, errDuration)
	}
	return ms, nil
}

// parseDuration says what is wrong with s, or "".
func parseDuration(s string) (ms int64, wrong string) {
	number := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyz")
	suffix := s[len(number):]
	digits := strings.TrimPrefix(number, "+")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, "is no length of time"
	}
	for _, u := range units {
		if u.suffix != suffix {
			continue
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		switch {
		case err != nil || n > MaxWindow/u.millis: // too many digits, or simply too much
			return 0, "is too long"
		case n == 0:
			return 0, "is no time at all"
		}
		return n * u.millis, ""
	}
	return 0, "has a unit that is not known"
}

// spell writes milliseconds the way ParseDuration reads them: with the largest
// unit that leaves a whole number.
func spell(ms int64) string {
	for _, u := range []struct {
		suffix string
		millis int64
	}{{"h", 3_600_000}, {"m", 60_000}, {"s", 1000}} {
		if ms != 0 && ms%u.millis == 0 {
			return strconv.FormatInt(ms/u.millis, 10) + u.suffix
		}
	}
	return strconv.FormatInt(ms, 10) + "ms"
}

// ISODuration writes milliseconds the way ISO 8601 does: PT1M30S, PT0.5S.
func ISODuration(ms int64) string {
	if ms == 0 {
		return "PT0S"
	}
	s := "PT"
	if h := ms / 3_600_000; h > 0 {
		s += strconv.FormatInt(h, 10) + "H"
	}
	if m := ms / 60_000 % 60; m > 0 {
		s += strconv.FormatInt(m, 10) + "M"
	}
	if rest := ms % 60_000; rest > 0 {
		s += strconv.FormatFloat(float64(rest)/1000, 'f', -1, 64) + "S"
	}
	return s
}

// human writes milliseconds for people: 5 s, 250 ms, 4.8 s.
func human(ms int64) string {
	if ms < 1000 {
		return fmt.Sprintf("%d ms", ms)
	}
	return strconv.FormatFloat(float64(ms)/1000, 'f', -1, 64) + " s"
}
