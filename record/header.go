package record

import (
	"encoding"
	"encoding/json"
	"fmt"

	"github.com/plimsoll-go/plimsoll/core"
)

// Bounds of a stream. Writers keep them and readers insist on them, so that a
// damaged or hostile stream costs no more memory than a large honest one.
const (
	// MaxHeader bounds the first line in bytes.
	MaxHeader = 1 << 16
	// MaxEntry bounds one entry in bytes. Only a snapshot can come near: about
	// a million waiting calls.
	MaxEntry = 1 << 28
	// MaxName bounds the name of a class or pool in bytes.
	MaxName = 1 << 10
	// MaxGroups bounds the number of machines in one stream.
	MaxGroups = core.MaxPools

	// maxNames bounds the dictionary of a binary stream. Names beyond it are
	// spelled out each time.
	maxNames = 1 << 12
)

// Encoding is how the entries of a stream are written.
type Encoding string

const (
	JSON   Encoding = "json"   // one JSON object a line
	Binary Encoding = "binary" // frames of varints
)

const (
	format  = "plimsoll"
	version = 1
)

// Header is the first line of a stream.
type Header struct {
	Format   string   `json:"format"`
	Version  int      `json:"version"`
	Encoding Encoding `json:"encoding"`
	Unit     string   `json:"unit"` // of every instant and duration: "ns"
	// Source says in a word what wrote the stream, for instance "gate" or "sim".
	Source string `json:"source,omitempty"`
	// Words are what the numbers of a binary stream stand for; a JSON stream
	// spells them out itself.
	Words *Words `json:"words,omitempty"`
}

// Words lists the words of each kind by their number in the stream.
type Words struct {
	Ops      []string `json:"ops"`
	Effects  []string `json:"effects"`
	Reasons  []string `json:"reasons"`
	Outcomes []string `json:"outcomes"`
}

func (h *Header) check() error {
	switch {
	case h.Format != format:
		return fmt.Errorf("not a plimsoll stream: format is %q; %q is expected", h.Format, format)
	case h.Version != version:
		return fmt.Errorf("version %d; this program reads version %d", h.Version, version)
	case h.Encoding != JSON && h.Encoding != Binary:
		return fmt.Errorf("encoding %q; %q or %q is allowed", h.Encoding, JSON, Binary)
	case h.Unit != "ns":
		return fmt.Errorf("unit %q; %q is expected", h.Unit, "ns")
	case h.Encoding == Binary && h.Words == nil:
		return fmt.Errorf("a binary stream without its words")
	}
	return nil
}

func parseHeader(line []byte) (Header, error) {
	var h Header
	if err := json.Unmarshal(line, &h); err != nil {
		return h, fmt.Errorf("the first line is not a stream header: %w", err)
	}
	return h, h.check()
}

// ownWords lists the words this program knows.
func ownWords() *Words {
	return &Words{
		Ops:      list(func(i uint8) encoding.TextMarshaler { return core.Op(i) }),
		Effects:  list(func(i uint8) encoding.TextMarshaler { return core.EffectKind(i) }),
		Reasons:  list(func(i uint8) encoding.TextMarshaler { return core.Reason(i) }),
		Outcomes: list(func(i uint8) encoding.TextMarshaler { return core.Outcome(i) }),
	}
}

func list(word func(uint8) encoding.TextMarshaler) []string {
	var words []string
	for i := range 256 {
		b, err := word(uint8(i)).MarshalText()
		if err != nil {
			break
		}
		words = append(words, string(b))
	}
	return words
}

// numbers translates the numbers of a stream into this program's.
type numbers struct{ ops, effects, reasons, outcomes []uint8 }

func (w *Words) numbers() (n numbers, err error) {
	own := ownWords()
	for _, t := range []struct {
		what      string
		from, own []string
		to        *[]uint8
	}{
		{"op", w.Ops, own.Ops, &n.ops},
		{"effect", w.Effects, own.Effects, &n.effects},
		{"reason", w.Reasons, own.Reasons, &n.reasons},
		{"outcome", w.Outcomes, own.Outcomes, &n.outcomes},
	} {
		if *t.to, err = translate(t.what, t.from, t.own); err != nil {
			return n, err
		}
	}
	return n, nil
}

func translate(what string, from, own []string) ([]uint8, error) {
	to := make([]uint8, 0, len(from))
	for _, word := range from {
		i := 0
		for i < len(own) && own[i] != word {
			i++
		}
		if i == len(own) {
			return nil, fmt.Errorf("the header has the %s %q; this program knows %q", what, word, own)
		}
		to = append(to, uint8(i))
	}
	return to, nil
}
