package write

import (
	"github.com/divandb/divan/layer/internal/attach"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// namedEdits are the interactive edits of a family. Each names the leaf that it extends. Only these leaves are read,
// and as many of the best leaves as are needed to know the best remaining one.
type namedEdits struct {
	*family
	named  map[db.Rev]*rev.LeafKV // live leaves that the edits name
	best   []rev.LeafKV           // stored leaves, best first
	gone   map[db.Rev]bool        // stored leaves that were replaced
	leaves int64
}

func (e *namedEdits) read(ps []pendingEdit) error {
	t := e.t
	e.named, e.gone = make(map[db.Rev]*rev.LeafKV, len(ps)), map[db.Rev]bool{}
	for i := range ps {
		if p := &ps[i]; p.err == nil {
			p.found.leaf = t.Get(t.Close(t.Keys.Revision(t.Open(), e.id, false, p.e.Rev)))
		}
	}
	prefix := t.Keys.Doc(nil, keyspace.Revisions, e.id)
	rows := db.GetRange(t, prefix, kv.RangeOptions{Reverse: true, Limit: len(ps) + 1, Mode: kv.ModeExact})
	var err error
	if e.best, err = rev.ReadLeaves(rows, len(prefix), true, nil); err != nil {
		return err
	}
	if len(e.best) > 0 {
		e.before = &e.best[0]
		if err := mustWin(e.before); err != nil {
			return err
		}
		e.leaves = e.before.Branches
	}
	for i := range ps {
		p := &ps[i]
		if p.found.leaf == nil {
			continue
		}
		value, err := p.found.leaf.Wait()
		if err != nil {
			return err
		}
		if p.found.leaf = nil; value == nil {
			continue
		}
		l := &rev.LeafKV{Rev: p.e.Rev}
		if err := rev.ParseLeafValue(l, value, true); err != nil {
			return err
		}
		t.Spent += rev.LeafOverhead + len(value)
		e.named[l.Rev] = l
	}
	if len(ps) > 1 && t.Spent+rev.SizeOf(e.best) > 2*db.ReadBudget {
		return db.ErrDivide
	}
	return nil
}

func (e *namedEdits) plan(p *pendingEdit) error {
	old := e.added[p.e.Rev]
	if old == nil && !e.gone[p.e.Rev] {
		old = e.named[p.e.Rev]
	}
	if old == nil || old.Deleted {
		return errConflict()
	}
	p.plan = extending(old, e.before, nil, p.e.Deleted, e.t.Cfg.RevsLimit)
	return nil
}

func (e *namedEdits) take(p *pendingEdit) {
	old := p.plan.replaced[0]
	e.replace(old.Rev, func() *rev.LeafKV {
		e.gone[old.Rev] = true
		return old
	})
	added := p.plan.added
	e.added[added.Rev] = &added
}

func (e *namedEdits) rest() (*rev.LeafKV, int64) {
	n := e.leaves // each edit replaces one leaf by another
	for i := range e.best {
		if l := &e.best[i]; !e.gone[l.Rev] {
			return l, n
		}
	}
	return nil, n
}

func (e *namedEdits) history(l *rev.LeafKV) []byte { return l.Ancestors }

// dropForgotten does nothing, because these edits add no histories.
func (e *namedEdits) dropForgotten() ([]attach.AttachmentOf, error) { return nil, nil }
