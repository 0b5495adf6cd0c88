// Package spelling finds the word that a typed one was meant to be, so that a
// message about an unknown key, flag or command can propose it.
package spelling

import (
	"fmt"
	"strings"
)

// longest is the length of the longest text that is compared, in bytes: nobody
// types a longer word, and the work grows with the square.
const longest = 64

// Meant is the end of a message about s: "; is WORD meant?" if s is a slip of
// the keyboard away from one of the words, and nothing otherwise.
func Meant(s string, words []string) string {
	if w := Nearest(s, words); w != "" {
		return fmt.Sprintf("; is %s meant?", w)
	}
	return ""
}

// Nearest is the word that s is a slip of the keyboard away from, or "": at
// most two slips, and at most one for every three letters of s. Of words that
// are equally near it is the first.
func Nearest(s string, words []string) string {
	best, least := "", 1+min(2, len(s)/3)
	for _, w := range words {
		if d := distance(s, w); d < least {
			best, least = w, d
		}
	}
	return best
}

// distance counts the letters to insert, delete, replace or swap with their
// neighbour, disregarding case and the kind of dash.
func distance(a, b string) int {
	same := strings.NewReplacer("-", "_")
	x, y := same.Replace(strings.ToLower(a)), same.Replace(strings.ToLower(b))
	if len(x) > longest {
		return len(x)
	}
	rows := make([][]int, len(x)+1)
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(x); i++ {
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(x)][len(y)]
}
