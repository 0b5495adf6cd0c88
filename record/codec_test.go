package record_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-go/plimsoll/core"
	"github.com/plimsoll-go/plimsoll/record"
)

var encodings = []record.Encoding{record.JSON, record.Binary}

// write makes a stream of entries.
func write(t testing.TB, enc record.Encoding, entries ...record.Entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := record.NewWriter(&b, enc, "test")
	if err != nil {
		t.Fatal(err)
	}
	for i := range entries {
		if err := w.Write(&entries[i]); err != nil {
			t.Fatalf("entry %d: %v", i+1, err)
		}
	}
	return b.Bytes()
}

// read returns the entries of a stream and the error that ended it, io.EOF aside.
func read(stream []byte) ([]record.Entry, error) {
	r, err := record.NewReader(bytes.NewReader(stream))
	if err != nil {
		return nil, err
	}
	var all []record.Entry
	for {
		var e record.Entry
		if err := r.Next(&e); err == io.EOF {
			return all, nil
		} else if err != nil {
			return all, err
		}
		if len(e.Effects) == 0 {
			e.Effects = nil
		}
		all = append(all, e)
	}
}

// entries makes one entry of every shape that matters, extremes included.
func entries() []record.Entry {
	m, cfg := machine()
	state := m.Snapshot()
	arrive := core.Event{Op: core.OpArrive, Now: 1e9, Seq: 7, Request: core.Request{
		Class: 1, Cost: 3, Attempt: 2, Key: math.MaxUint64, Deadline: core.Never, Expected: 10e6,
	}}
	return []record.Entry{
		{Kind: record.KindSnapshot, Group: 3, State: &state},
		{Kind: record.KindEvent, Group: 3, Event: arrive, Effects: []core.Effect{
			{Kind: core.Refuse, Reason: core.Evicted, Class: 1, ID: core.ID{Seq: 2}, Ns: 5e6},
			{Kind: core.Wait, ID: core.ID{Seq: 7}},
		}},
		{Kind: record.KindEvent, Event: core.Event{Op: core.OpArrive, Now: -5, Seq: 1, Request: core.Request{Class: -1, Deadline: 1, Cost: -1}}},
		{Kind: record.KindEvent, Event: core.Event{Op: core.OpRelease, Now: math.MinInt64, Seq: math.MaxUint64, Outcome: core.Failed}, Effects: []core.Effect{
			{Kind: core.Stale, ID: core.ID{Seq: math.MaxUint64}},
		}},
		{Kind: record.KindEvent, Event: core.Event{Op: core.OpDispatch, Now: math.MaxInt64}, Effects: []core.Effect{
			{Kind: core.Run, ID: core.ID{Seq: 1}, Class: math.MaxInt32, Ns: math.MinInt64},
		}},
		{Kind: record.KindEvent, Event: core.Event{Op: core.OpCancel, Seq: 4}},
		{Kind: record.KindEvent, Event: core.Event{Op: core.OpTick, Now: 17}},
		{Kind: record.KindEvent, Event: core.Event{Op: core.OpConfigure, Config: &cfg}},
		{Kind: record.KindEvent, Event: core.Event{Op: core.OpDrain, On: true}},
		{Kind: record.KindEvent, Event: core.Event{Op: core.OpFlush, Reason: core.Draining}},
		{Kind: record.KindGap, Group: record.MaxGroups - 1, Lost: math.MaxUint64},
		{Kind: record.KindRecord, Record: record.Record{
			Intended: record.Unknown, Start: 5, Class: "critical", Pool: "app", Wait: 1, Service: 2,
			Deadline: core.Never, Outcome: core.OK,
		}},
		{Kind: record.KindRecord, Record: record.Record{
			Intended: 0, Start: 9e9, Class: "critical", Pool: "größer", Wait: 1 << 60, Deadline: 0,
			Outcome: core.Refused, Reason: core.Full, Attempt: 3, Key: 1,
		}},
		{Kind: record.KindRecord, Record: record.Record{Intended: 12, Start: 12, Deadline: -1, Outcome: core.Late}},
	}
}

func TestRoundTrip(t *testing.T) {
	want := entries()
	for _, enc := range encodings {
		stream := write(t, enc, want...)
		got, err := read(stream)
		if err != nil {
			t.Fatalf("%s: %v", enc, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-written +read)\n%s", enc, diff)
		}
		if again := write(t, enc, got...); !bytes.Equal(stream, again) {
			t.Errorf("%s: what was read is not written as the same bytes", enc)
		}
	}
}

func TestRoundTripOfRandomRecords(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var want []record.Entry
	now := int64(0)
	for range 2000 {
		now += rng.Int64N(1e7)
		r := record.Record{
			Intended: now - rng.Int64N(1e6), Start: now, Deadline: now + 2e8,
			Class: []string{"critical", "background"}[rng.IntN(2)], Pool: "app",
			Wait: rng.Int64N(1e8), Service: rng.Int64N(1e8), Attempt: rng.IntN(3), Key: rng.Uint64(),
			Outcome: core.Outcome(1 + rng.IntN(core.NumOutcomes-1)), Reason: core.Reason(rng.IntN(core.NumReasons)),
		}
		want = append(want, record.Entry{Kind: record.KindRecord, Record: r})
	}
	size := map[record.Encoding]int{}
	for _, enc := range encodings {
		stream := write(t, enc, want...)
		size[enc] = len(stream)
		got, err := read(stream)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", enc, err, diff)
		}
	}
	if size[record.Binary]*4 > size[record.JSON] {
		t.Errorf("binary takes %d bytes and JSON %d: not the compact one", size[record.Binary], size[record.JSON])
	}
}

// A name that is not in the dictionary any more, because that is full, is
// spelled out; the reader must not count it.
func TestMoreNamesThanTheDictionaryHolds(t *testing.T) {
	var want []record.Entry
	for i := range 5000 {
		name := strings.Repeat("x", i%7) + string(rune('a'+i%26)) + strings.Repeat("y", i/26)
		want = append(want, record.Entry{Kind: record.KindRecord, Record: record.Record{Class: name, Outcome: core.OK}})
	}
	want = append(want, want...)
	got, err := read(write(t, record.Binary, want...))
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// A stream cut anywhere gives every entry before the cut, and then an error
// that names the place where the cut entry begins.
func TestTruncated(t *testing.T) {
	want := entries()
	for _, enc := range encodings {
		ends := []int{len(write(t, enc))}
		for i := range want {
			ends = append(ends, len(write(t, enc, want[:i+1]...)))
		}
		stream := write(t, enc, want...)
		for at := ends[0]; at < len(stream); at++ {
			whole := 0
			for ends[whole+1] <= at {
				whole++
			}
			got, err := read(stream[:at])
			if enc == record.JSON && ends[whole+1] == at+1 {
				whole++ // only the newline is missing
			}
			if len(got) != whole {
				t.Fatalf("%s cut at %d: %d entries; want %d (%v)", enc, at, len(got), whole, err)
			}
			if ends[whole] == at || ends[whole] == at+1 {
				if err != nil {
					t.Fatalf("%s cut at %d, between entries: %v", enc, at, err)
				}
				continue
			}
			var corrupt *record.CorruptError
			if !errors.As(err, &corrupt) || !errors.Is(err, io.ErrUnexpectedEOF) ||
				corrupt.Offset != int64(ends[whole]) || corrupt.Entry != whole+1 {
				t.Fatalf("%s cut at %d: %v; want entry %d at byte %d cut off", enc, at, err, whole+1, ends[whole])
			}
		}
	}
}

// The source's own failure is not mistaken for the end of the stream.
func TestSourceFails(t *testing.T) {
	broken := errors.New("the disk has gone")
	for _, enc := range encodings {
		stream := write(t, enc, entries()...)
		r, err := record.NewReader(io.MultiReader(bytes.NewReader(stream[:len(stream)-9]), failing{broken}))
		if err != nil {
			t.Fatal(err)
		}
		var e record.Entry
		for err == nil {
			err = r.Next(&e)
		}
		if !errors.Is(err, broken) {
			t.Errorf("%s: %v; want it to wrap %v", enc, err, broken)
		}
		if again := r.Next(&e); again != err {
			t.Errorf("%s: the error does not stay: %v", enc, again)
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error)  { return 0, f.err }
func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestWriterRefuses(t *testing.T) {
	long := strings.Repeat("x", record.MaxName+1)
	for _, c := range []struct {
		entry record.Entry
		want  string
	}{
		{record.Entry{}, "no such kind of entry: 0"},
		{record.Entry{Kind: record.KindSnapshot}, "there is no state in it"},
		{record.Entry{Kind: record.KindGap, Group: record.MaxGroups}, "group 65536; 0 to 65535 is allowed"},
		{record.Entry{Kind: record.KindGap, Group: -1}, "group -1; 0 to 65535 is allowed"},
		{record.Entry{Kind: record.KindEvent}, "no such op: 0"},
		{record.Entry{Kind: record.KindEvent, Event: core.Event{Op: 99}}, "no such op: 99"},
		{record.Entry{Kind: record.KindEvent, Event: core.Event{Op: core.OpTick}, Effects: []core.Effect{{}}}, "no such effect: 0"},
		{record.Entry{Kind: record.KindRecord, Record: record.Record{Class: long}}, "a class of 1025 bytes; at most 1024 are allowed"},
		{record.Entry{Kind: record.KindRecord, Record: record.Record{Pool: "\xff"}}, `the pool "\xff" is not UTF-8`},
		{record.Entry{Kind: record.KindRecord, Record: record.Record{Outcome: 200}}, "no such outcome: 200"},
		{record.Entry{Kind: record.KindRecord, Record: record.Record{Reason: 200}}, "no such reason: 200"},
	} {
		for _, enc := range encodings {
			var b bytes.Buffer
			w, err := record.NewWriter(&b, enc, "test")
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Write(&c.entry); err == nil || !strings.HasSuffix(err.Error(), c.want) {
				t.Errorf("%s: %v; want %q", enc, err, c.want)
			}
			if err := w.Gap(1, 2); err != nil {
				t.Errorf("%s: the stream does not go on: %v", enc, err)
			}
			if got, err := read(b.Bytes()); err != nil || len(got) != 1 {
				t.Errorf("%s: %d entries, %v; want the gap alone", enc, len(got), err)
			}
		}
	}
	if _, err := record.NewWriter(io.Discard, "xml", "test"); err == nil || err.Error() != `record: encoding "xml"; "json" or "binary" is allowed` {
		t.Error(err)
	}
	if _, err := record.NewWriter(io.Discard, record.JSON, long); err == nil {
		t.Error("a source name beyond its bound is taken")
	}
}

func TestDestinationFails(t *testing.T) {
	full := errors.New("no space left")
	if _, err := record.NewWriter(failing{full}, record.JSON, ""); !errors.Is(err, full) {
		t.Error(err)
	}
	dest := &limited{left: 1000, err: full}
	w, err := record.NewWriter(dest, record.Binary, "")
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		err = w.Record(&record.Record{Outcome: core.OK, Key: math.MaxUint64})
	}
	dest.left = 1000
	if again := w.Gap(0, 0); !errors.Is(err, full) || again != err {
		t.Errorf("%v, then %v: a stream with a hole went on", err, again)
	}
}

type limited struct {
	left int
	err  error
}

func (l *limited) Write(b []byte) (int, error) {
	if l.left -= len(b); l.left < 0 {
		return 0, l.err
	}
	return len(b), nil
}

func TestHeaders(t *testing.T) {
	const words = `"words":{"ops":["","arrive"],"effects":[""],"reasons":[""],"outcomes":["",%s]}}` + "\n"
	for _, c := range []struct{ stream, want string }{
		{"", "record: header at byte 0: the stream is empty"},
		{"GET / HTTP/1.1\n", "record: header at byte 0: the first line is not a stream header: "},
		{`{"format":"other"}` + "\n", `not a plimsoll stream: format is "other"; "plimsoll" is expected`},
		{`{"format":"plimsoll","version":2}` + "\n", "version 2; this program reads version 1"},
		{`{"format":"plimsoll","version":1,"encoding":"xml"}` + "\n", `encoding "xml"; "json" or "binary" is allowed`},
		{`{"format":"plimsoll","version":1,"encoding":"json","unit":"ms"}` + "\n", `unit "ms"; "ns" is expected`},
		{`{"format":"plimsoll","version":1,"encoding":"binary","unit":"ns"}` + "\n", "a binary stream without its words"},
		{`{"format":"plimsoll","version":1,"encoding":"binary","unit":"ns",` + strings.Replace(words, "%s", `"so-so"`, 1), `the header has the outcome "so-so"; this program knows `},
		{strings.Repeat(" ", record.MaxHeader+1), "a line of more than 65536 bytes"},
	} {
		_, err := record.NewReader(strings.NewReader(c.stream))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: %v; want %q", c.stream, err, c.want)
		}
	}
}

// A stream whose writer numbered its words otherwise is read by its words.
func TestWordsAreTranslated(t *testing.T) {
	stream := write(t, record.Binary, record.Entry{Kind: record.KindRecord, Record: record.Record{Outcome: core.Late}})
	swapped := bytes.Replace(stream, []byte(`"ok","late"`), []byte(`"late","ok"`), 1)
	if len(swapped) != len(stream) || bytes.Equal(swapped, stream) {
		t.Fatal("the header does not list the outcomes")
	}
	got, err := read(swapped)
	if err != nil || len(got) != 1 || got[0].Record.Outcome != core.OK {
		t.Errorf("%v, %v; want the outcome ok", got, err)
	}
}

func TestCorruptEntries(t *testing.T) {
	head := write(t, record.JSON)
	for _, c := range []struct{ line, want string }{
		{`{"event":{"op":"arrive","now":1}`, "unexpected"},
		{`{}`, "0 entries on one line; exactly one of snapshot, event, gap and record is allowed"},
		{`{"gap":{"lost":1},"record":{"outcome":"ok"}}`, "2 entries on one line"},
		{`{"gap":{"lost":1}} {"gap":{}}`, `"{\"gap\":{}}" after the end of the object`},
		{`{"gap":{"loss":1}}`, `unknown field "loss"`},
		{`{"record":{"outcome":"fine"}}`, `core: no such outcome: "fine"`},
		{`{"record":{"outcome":"ok","colour":"red"}}`, `unknown field "colour"`},
		{`{"event":{"op":"arrive","group":70000}}`, "group 70000; 0 to 65535 is allowed"},
		{`{"event":{"now":3}}`, "no such op: 0"},
		{`{"snapshot":{"group":1}}`, "there is no state in it"},
	} {
		stream := append(bytes.Clone(head), "\n"+c.line+"\n"...)
		_, err := read(stream)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.line, err, c.want)
		}
		if errors.Is(err, io.ErrUnexpectedEOF) && !strings.HasPrefix(c.line, `{"event":{"op":"arrive","now":1}`) {
			t.Errorf("%s: a whole line is called cut off: %v", c.line, err)
		}
	}
	head = write(t, record.Binary)
	for _, c := range []struct {
		frame []byte
		want  string
	}{
		{[]byte{0xff, 0xff, 0xff, 0xff, 0x7f}, "an entry of 34359738367 bytes; at most 268435456 are allowed"},
		{bytes.Repeat([]byte{0xff}, 12), "at most 268435456 are allowed"},
		{[]byte{0}, "the entry ends in the middle of a field"},
		{[]byte{1, 9}, "no such kind of entry"},
		{[]byte{4, 3, 0, 1, 1}, "1 bytes are left after the last field"},
		{[]byte{3, 2, 0, 99}, "no such op: 99"},
		{[]byte{6, 4, 1, 0, 0, 0, 77}, "name 77 of 0"},
		{append([]byte{12, 3}, bytes.Repeat([]byte{0xff}, 11)...), "a number of more than 64 bits"},
		{[]byte{3, 1, 0, '{'}, "unexpected EOF"},
	} {
		_, err := read(append(bytes.Clone(head), c.frame...))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v; want %q", c.frame, err, c.want)
		}
	}
}

// A length that promises much is not believed before the bytes are there.
func TestPromisedLengthCostsNothing(t *testing.T) {
	stream := append(write(t, record.Binary), 0xff, 0xff, 0xff, 0x7f) // 256 MiB
	got := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := read(stream); !errors.Is(err, io.ErrUnexpectedEOF) {
				b.Fatal(err)
			}
		}
	})
	if got.AllocedBytesPerOp() > 1<<19 {
		t.Errorf("%d bytes for an entry that is not there", got.AllocedBytesPerOp())
	}
}

func FuzzReader(f *testing.F) {
	for _, enc := range encodings {
		f.Add(write(f, enc, entries()...))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		got, err := read(stream)
		var corrupt *record.CorruptError
		if err != nil && (!errors.As(err, &corrupt) || corrupt.Offset < 0 || corrupt.Offset > int64(len(stream))) {
			t.Fatalf("an error without its place: %v", err)
		}
		for _, enc := range encodings { // what was read can be written, and is read as the same
			again, err := read(write(t, enc, got...))
			if err != nil || len(again) != len(got) {
				t.Fatalf("%s: %d entries became %d: %v", enc, len(got), len(again), err)
			}
			if diff := cmp.Diff(write(t, enc, got...), write(t, enc, again...)); diff != "" {
				t.Fatalf("%s: %s", enc, diff)
			}
		}
	})
}
