package lab

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

var units = []struct {
	suffix string
	millis int64
}{
	{"ms", 1}, {"s", 1000}, {"m", 60_000}, {"h", 3_600_000}, {"", 1000},
}

var errDuration = errors.New("allowed is a whole number above 0 with ms, s, m or h, like 250ms or 5s; without a unit it is seconds")

// ParseDuration reads a length of time and returns it in milliseconds, at least
// 1: a whole number, with ms, s, m or h or with nothing, which means seconds. A
// leading + is accepted.
func ParseDuration(s string) (int64, error) {
	number := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyz")
	suffix := s[len(number):]
	digits := strings.TrimPrefix(number, "+")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, fmt.Errorf("lab: duration %q: %w", s, errDuration)
	}
	for _, u := range units {
		if u.suffix != suffix {
			continue
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n > math.MaxInt64/u.millis {
			return 0, fmt.Errorf("lab: duration %q is more than %d ms: %w", s, int64(math.MaxInt64), errDuration)
		}
		if n == 0 {
			return 0, fmt.Errorf("lab: duration %q is none: %w", s, errDuration)
		}
		return n * u.millis, nil
	}
	return 0, fmt.Errorf("lab: duration %q: %w", s, errDuration)
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
