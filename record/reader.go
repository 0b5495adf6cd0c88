package record

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// chunk is how much a reader believes of a length before it has seen the bytes.
const chunk = 1 << 16

// CorruptError says where a stream stops making sense. Everything before that
// place has been returned. It wraps io.ErrUnexpectedEOF when the stream was cut
// off, and the source's own error when that failed.
type CorruptError struct {
	Entry  int   // counted from 1; 0 is the header
	Offset int64 // where the entry begins, in bytes from the start of the stream
	Err    error
}

// Error names the entry, its place, and what is wrong with it.
func (e *CorruptError) Error() string {
	what := "header"
	if e.Entry > 0 {
		what = fmt.Sprintf("entry %d", e.Entry)
	}
	return fmt.Sprintf("record: %s at byte %d: %v", what, e.Offset, e.Err)
}

// Unwrap returns what is wrong.
func (e *CorruptError) Unwrap() error { return e.Err }

var errCut = fmt.Errorf("the stream is cut off here: %w", io.ErrUnexpectedEOF)

// Reader reads a stream of either encoding. It is not safe for concurrent use.
type Reader struct {
	header Header
	limits limits
	r      *bufio.Reader
	dec    decoder
	buf    []byte
	offset int64 // of the next byte
	start  int64 // of the entry being read
	entry  int
	err    error
}

// NewReader reads the header, and returns a reader for the encoding that it
// names. It reads ahead of what it returns.
func NewReader(r io.Reader) (*Reader, error) {
	d := &Reader{r: bufio.NewReaderSize(r, chunk), limits: ownLimits()}
	line, err := d.line(MaxHeader)
	if err == io.EOF {
		err = errors.New("the stream is empty")
	}
	if err != nil {
		return nil, d.corrupt(err)
	}
	if d.header, err = parseHeader(line); err != nil {
		return nil, d.corrupt(err)
	}
	if d.header.Encoding == Binary {
		if d.dec.numbers, err = d.header.Words.numbers(); err != nil {
			return nil, d.corrupt(err)
		}
	}
	return d, nil
}

// Header returns the first line of the stream.
func (d *Reader) Header() Header { return d.header }

// Offset is where the entry that Next returned last begins, in bytes from the
// start of the stream.
func (d *Reader) Offset() int64 { return d.start }

// Entry is the number of the entry that Next returned last, counted from 1.
func (d *Reader) Entry() int { return d.entry }

// Next reads the next entry into e. It overwrites all of e, and reuses the
// memory of e.Effects. At the end of the stream the error is io.EOF, anywhere
// else a *CorruptError; both stay.
func (d *Reader) Next(e *Entry) error {
	if d.err != nil {
		return d.err
	}
	*e = Entry{Effects: e.Effects[:0]}
	d.entry++
	err := d.next(e)
	if err == nil {
		err = e.check(d.limits)
	}
	switch err {
	case nil:
		return nil
	case io.EOF:
		d.err = err
	default:
		d.err = d.corrupt(err)
	}
	return d.err
}

func (d *Reader) next(e *Entry) error {
	if d.header.Encoding == Binary {
		b, err := d.frame()
		if err != nil {
			return err
		}
		return d.dec.decode(b, e)
	}
	for {
		b, err := d.line(MaxEntry)
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(b)) == 0 {
			continue // an empty line, as editors leave it at the end
		}
		err = decodeJSON(b, e)
		if err != nil && b[len(b)-1] != '\n' {
			return fmt.Errorf("%w (%v)", errCut, err)
		}
		return err
	}
}

// line reads to the next newline or to the end of the stream. A last line
// without a newline is a line: half an object is never a valid one.
func (d *Reader) line(limit int) ([]byte, error) {
	d.start, d.buf = d.offset, d.buf[:0]
	for {
		b, err := d.r.ReadSlice('\n')
		d.buf = append(d.buf, b...)
		d.offset += int64(len(b))
		switch {
		case len(d.buf) > limit:
			return nil, fmt.Errorf("a line of more than %d bytes", limit)
		case err == nil, err == io.EOF && len(d.buf) > 0:
			return d.buf, nil
		case err != bufio.ErrBufferFull:
			return nil, err
		}
	}
}

// frame reads a length and as many bytes.
func (d *Reader) frame() ([]byte, error) {
	d.start = d.offset
	n, err := d.length()
	if err != nil {
		return nil, err
	}
	if n > MaxEntry {
		return nil, fmt.Errorf("an entry of %d bytes; at most %d are allowed", n, MaxEntry)
	}
	d.buf = d.buf[:0]
	for left := int(n); left > 0; {
		step := min(left, chunk)
		d.buf = append(d.buf, make([]byte, step)...)
		got, err := io.ReadFull(d.r, d.buf[len(d.buf)-step:])
		d.offset += int64(got)
		if err != nil {
			return nil, cut(err)
		}
		left -= step
	}
	return d.buf, nil
}

func (d *Reader) length() (uint64, error) {
	var raw [binary.MaxVarintLen64]byte
	for i := range raw {
		b, err := d.r.ReadByte()
		if err != nil && i == 0 {
			return 0, err // io.EOF here is the regular end
		}
		if err != nil {
			return 0, cut(err)
		}
		d.offset++
		raw[i] = b
		if b < 0x80 {
			if n, used := binary.Uvarint(raw[:i+1]); used > 0 {
				return n, nil
			}
			break
		}
	}
	return math.MaxUint64, nil
}

func cut(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errCut
	}
	return err
}

func (d *Reader) corrupt(err error) error {
	return &CorruptError{Entry: d.entry, Offset: d.start, Err: err}
}
