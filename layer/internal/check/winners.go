package check

import (
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// winnerRead is a pending read of a document's winner.
type winnerRead struct{ rows kv.RangeIterator }

func (x *checker) readWinner(id string) winnerRead {
	return winnerRead{db.GetRange(x.r, x.keys.Doc(nil, keyspace.Revisions, id),
		kv.RangeOptions{Reverse: true, Limit: 1, Mode: kv.ModeExact})}
}

// wait returns the winner, or nil if there is no such document. prefix is the length of the part of the key that names
// the document.
func (w winnerRead) wait(prefix int) (*rev.LeafKV, error) {
	leaves, err := rev.ReadLeaves(w.rows, prefix, false, nil)
	if err != nil || len(leaves) == 0 {
		return nil, err
	}
	return &leaves[0], nil
}

// winnerLook is a document whose winner is being read, and a function to call with it.
type winnerLook struct {
	id   string
	read winnerRead
	then func(w *rev.LeafKV) error
}

// winners are documents whose winners are read together.
type winners struct{ looks []winnerLook }

// look starts reading the winner of a document. flush calls then with it.
func (w *winners) look(x *checker, id string, then func(w *rev.LeafKV) error) {
	w.looks = append(w.looks, winnerLook{id, x.readWinner(id), then})
}

// flush waits for the pending reads.
func (w *winners) flush(x *checker) error {
	for len(w.looks) > 0 {
		l := w.looks[0]
		w.looks = w.looks[1:]
		leaf, err := l.read.wait(len(x.keys.Doc(nil, keyspace.Revisions, l.id)))
		if err == nil {
			err = l.then(leaf)
		}
		if err != nil {
			return err
		}
	}
	w.looks = nil
	return nil
}

// drop drops the pending reads.
func (w *winners) drop() {
	for _, l := range w.looks {
		l.read.rows.Close()
	}
	w.looks = nil
}
