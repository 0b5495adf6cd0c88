// Package record holds what happened: the events of a machine, so that a run
// can be replayed decision by decision, and the records of ended calls, so that
// it can be scored. One format holds both: a recorded gate writes snapshots,
// events and gaps; whoever counts ended calls writes records. Decoders take any mix.
//
// # The stream
//
// A stream is a header and then entries, see [Entry]:
//
//   - a snapshot: the whole state of one machine, from which its events go on;
//   - an event: one call into a machine in lock order, with its effects;
//   - a gap: events were lost, and a fresh snapshot of that machine follows;
//   - a record: one ended call, see [Record].
//
// A gate with several machines (one for each group of pools) writes them all
// into one stream; Group tells them apart. Every instant is a count of
// nanoseconds on one monotonic line whose origin the writer chose; a stream
// never says what time it was on a wall.
//
// # The encodings
//
// Both begin with the same line of JSON, so that the first line of any file
// tells a person what the rest is. After it, [JSON] has one JSON object a line,
// for people and their tools; [Binary] has frames of varints at about a fifth
// of the size, for volume. The binary header carries the words behind its
// numbers, so that a later version may add words without misreading old files.
// [NewReader] reads both.
//
// Decoding never trusts a length: no entry is longer than [MaxEntry], and
// memory grows with the bytes that are really there. A stream that was cut off
// yields everything before the cut and then an error that names the place.
//
// # Replay
//
// [Replay] restores each snapshot, applies every event to the restored machine
// and compares the effects with the recorded ones, byte for byte.
package record
