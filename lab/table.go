package lab

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
)

// Table is a table as it is written: every cell is text already.
type Table struct {
	Name   string // for people
	File   string // base name of the CSV
	Header []string
	Rows   [][]string
	// Golden is the sha256, in hex, of the table that the experiment's
	// published constants give; empty if none is published.
	Golden string
}

// CSV is the table's bytes: comma separated, no quotes, a header, and a newline
// after every line. No cell of an experiment needs quoting.
func (t *Table) CSV() []byte {
	var b bytes.Buffer
	line(&b, t.Header)
	for _, row := range t.Rows {
		line(&b, row)
	}
	return b.Bytes()
}

func line(b *bytes.Buffer, cells []string) {
	for i, c := range cells {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(c)
	}
	b.WriteByte('\n')
}

// SHA256 is the checksum of the table's CSV, in hex.
func (t *Table) SHA256() string { return checksum(t.CSV()) }

func checksum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
