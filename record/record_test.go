package record_test

import (
	"bufio"
	"bytes"
	"io"
	"testing"

	"github.com/plimsoll-go/plimsoll/core"
	"github.com/plimsoll-go/plimsoll/record"
)

func TestRecordCountsFromItsIntention(t *testing.T) {
	r := record.Record{Intended: 100, Start: 130, Wait: 20, Service: 7}
	if r.From() != 100 || r.End() != 157 {
		t.Errorf("from %d to %d; want 100 to 157", r.From(), r.End())
	}
	r.Intended = record.Unknown
	if r.From() != 130 {
		t.Errorf("from %d; want the start, 130, when the intention is unknown", r.From())
	}
}

func BenchmarkWriteRecord(b *testing.B) {
	r := record.Record{
		Intended: 100, Start: 130e6, Class: "critical", Pool: "app", Wait: 20e6, Service: 10e6,
		Deadline: 330e6, Outcome: core.OK, Key: 12345,
	}
	for _, enc := range encodings {
		b.Run(string(enc), func(b *testing.B) {
			w, err := record.NewWriter(bufio.NewWriter(io.Discard), enc, "bench")
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				r.Start += 1e6
				if err := w.Record(&r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkReadRecord(b *testing.B) {
	r := record.Record{
		Intended: 100, Start: 130e6, Class: "critical", Pool: "app", Wait: 20e6, Service: 10e6,
		Deadline: 330e6, Outcome: core.OK, Key: 12345,
	}
	const n = 10000
	all := make([]record.Entry, n)
	for i := range all {
		all[i] = record.Entry{Kind: record.KindRecord, Record: r}
	}
	for _, enc := range encodings {
		b.Run(string(enc), func(b *testing.B) {
			stream := write(b, enc, all...)
			b.ReportAllocs()
			for b.Loop() {
				d, err := record.NewReader(bytes.NewReader(stream))
				var e record.Entry
				for err == nil {
					err = d.Next(&e)
				}
				if err != io.EOF {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/record")
		})
	}
}

func BenchmarkReplay(b *testing.B) {
	h := newHistory(b, 3)
	h.snapshot()
	h.run(10000)
	stream := write(b, record.Binary, h.entries...)
	for b.Loop() {
		got, err := record.Replay(bytes.NewReader(stream))
		if err != nil || got.Difference != nil {
			b.Fatal(err, got.Difference)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10000, "ns/event")
}
