package transfer

import (
	"bytes"
	"encoding/json"
	"slices"
)

// tracker knows up to where all changes have been dealt with. Batches of a stream, which is a shard or the whole feed,
// may end in any order. It is not safe for concurrent use.
type tracker struct {
	streams []stream
	highest json.RawMessage // the highest sequence that a finished batch ended with
	// number counts batches, so that they have an order even if sequences have none.
	number int64
}

// stream is one feed. Its sequences, and those of the streams of the same tracker, are texts that sort, if there are
// several streams.
type stream struct {
	shard   string
	through json.RawMessage // everything up to it is done
	open    []batchEnd      // of batches that are not done, or done before an earlier one, in order
}

type batchEnd struct {
	number int64
	seq    json.RawMessage
	done   bool
}

func (t *tracker) begin(shards []string, start json.RawMessage) {
	t.streams = make([]stream, len(shards))
	for i, shard := range shards {
		t.streams[i] = stream{shard: shard, through: start}
	}
	t.highest = start
}

// take notes a batch that begins, and returns its number.
func (t *tracker) take(stream int, seq json.RawMessage) int64 {
	t.number++
	s := &t.streams[stream]
	s.open = append(s.open, batchEnd{number: t.number, seq: seq})
	return t.number
}

// done notes that everything in a batch has been dealt with.
func (t *tracker) done(stream int, number int64) {
	s := &t.streams[stream]
	for i := range s.open {
		if s.open[i].number == number {
			s.open[i].done = true
			if bytes.Compare(s.open[i].seq, t.highest) > 0 || len(t.streams) == 1 {
				t.highest = s.open[i].seq
			}
		}
	}
	n := 0
	for n < len(s.open) && s.open[n].done {
		s.through = s.open[n].seq
		n++
	}
	s.open = slices.Delete(s.open, 0, n)
}

// through returns the sequence up to which all streams are done.
func (t *tracker) through() json.RawMessage {
	if len(t.streams) == 0 {
		return nil
	}
	least := t.streams[0].through
	for _, s := range t.streams[1:] {
		if before(s.through, least) {
			least = s.through
		}
	}
	return least
}

// before orders sequences of Divan. The beginning, 0 or none, is before all others.
func before(a, b json.RawMessage) bool {
	begin := func(s json.RawMessage) bool { return s == nil || string(s) == "0" || string(s) == `"0"` }
	switch {
	case begin(b):
		return false
	case begin(a):
		return true
	}
	return bytes.Compare(a, b) < 0
}
