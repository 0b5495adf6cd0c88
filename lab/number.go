package lab

import (
	"strconv"
	"strings"
)

// Number writes v with the given number of decimals, at least 1. Rounding is
// half up, away from zero, on the shortest decimal that reads back as v: 0.25
// becomes 0.3 and 90.05 becomes 90.1, where rounding the binary value to even
// would give 0.2 and 90.0. v must be finite.
func Number(v float64, decimals int) string {
	s := strconv.FormatFloat(v, 'f', -1, 64)
	whole, fraction, _ := strings.Cut(s, ".")
	if len(fraction) <= decimals {
		return whole + "." + fraction + strings.Repeat("0", decimals-len(fraction))
	}
	up := fraction[decimals] >= '5'
	digits := []byte(whole + fraction[:decimals])
	for i := len(digits) - 1; up && i >= 0; i-- {
		switch digits[i] {
		case '9':
			digits[i] = '0'
		case '-':
			return "-1" + dotted(digits[1:], decimals)
		default:
			digits[i]++
			up = false
		}
	}
	if up {
		return "1" + dotted(digits, decimals)
	}
	return dotted(digits, decimals)
}

func dotted(digits []byte, decimals int) string {
	dot := len(digits) - decimals
	return string(digits[:dot]) + "." + string(digits[dot:])
}

func one(v float64) string { return Number(v, 1) }
