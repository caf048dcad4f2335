package check

import (
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// winnerRead is a read of a document's winner that has been issued, and is waited for by wait.
type winnerRead struct{ rows kv.RangeIterator }

func (x *checker) readWinner(id string) winnerRead {
	return winnerRead{db.GetRange(x.r, x.keys.Doc(nil, keyspace.Revisions, id),
		kv.RangeOptions{Reverse: true, Limit: 1, Mode: kv.ModeExact})}
}

// wait returns the winner as the reader has it; nil where there is no such document. prefix is how long the part of the
// key is that names the document.
func (w winnerRead) wait(prefix int) (*rev.LeafKV, error) {
	leaves, err := rev.ReadLeaves(w.rows, prefix, false, nil)
	if err != nil || len(leaves) == 0 {
		return nil, err
	}
	return &leaves[0], nil
}

// winnerLook is a document whose winner is being read, and what to do with it.
type winnerLook struct {
	id   string
	read winnerRead
	then func(w *rev.LeafKV) error
}

// winners are documents whose winners are read together.
type winners struct{ looks []winnerLook }

// look reads the winner of a document together with those of others: then is called by flush.
func (w *winners) look(x *checker, id string, then func(w *rev.LeafKV) error) {
	w.looks = append(w.looks, winnerLook{id, x.readWinner(id), then})
}

// flush waits for the reads that are under way.
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

// drop gives up the reads that are under way.
func (w *winners) drop() {
	for _, l := range w.looks {
		l.read.rows.Close()
	}
	w.looks = nil
}
