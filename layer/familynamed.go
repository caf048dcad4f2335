package layer

import (
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// namedEdits are interactive edits of a family. Each names the leaf that it extends. The leaves that they name are
// read, and enough of the best leaves to know one that remains.
type namedEdits struct {
	*family
	named  map[Rev]*leafKV // live leaves that edits name
	best   []leafKV        // stored, best first
	gone   map[Rev]bool    // stored leaves that were replaced
	leaves int64
}

func (e *namedEdits) read(ps []pendingEdit) error {
	t := e.t
	e.named, e.gone = make(map[Rev]*leafKV, len(ps)), map[Rev]bool{}
	for i := range ps {
		if p := &ps[i]; p.err == nil {
			p.leaf = t.Get(t.close(t.keys.revision(t.open(), e.id, false, p.e.Rev)))
		}
	}
	prefix := t.keys.doc(nil, keyspace.Revisions, e.id)
	rows := getRange(t, prefix, kv.RangeOptions{Reverse: true, Limit: len(ps) + 1, Mode: kv.ModeExact})
	var err error
	if e.best, err = readLeaves(rows, len(prefix), true, nil); err != nil {
		return err
	}
	if len(e.best) > 0 {
		e.before = &e.best[0]
		if err := mustWin(e.before); err != nil {
			return err
		}
		e.leaves = e.before.branches
	}
	for i := range ps {
		p := &ps[i]
		if p.leaf == nil {
			continue
		}
		value, err := p.leaf.Wait()
		if err != nil {
			return err
		}
		if p.leaf = nil; value == nil {
			continue
		}
		l := &leafKV{rev: p.e.Rev}
		if err := parseLeafValue(l, value, true); err != nil {
			return err
		}
		t.spent += leafOverhead + len(value)
		e.named[l.rev] = l
	}
	if len(ps) > 1 && t.spent+sizeOf(e.best) > 2*readBudget {
		return errDivide
	}
	return nil
}

func (e *namedEdits) plan(p *pendingEdit) error {
	old := e.added[p.e.Rev]
	if old == nil && !e.gone[p.e.Rev] {
		old = e.named[p.e.Rev]
	}
	if old == nil || old.deleted {
		return errConflict()
	}
	p.extend(old, e.before, nil, e.t.cfg.revsLimit)
	return nil
}

func (e *namedEdits) take(p *pendingEdit) {
	old := p.plan.replaced[0]
	e.replace(old.rev, func() *leafKV {
		e.gone[old.rev] = true
		return old
	})
	added := p.plan.added
	e.added[added.rev] = &added
}

func (e *namedEdits) rest() (*leafKV, int64) {
	n := e.leaves // each edit has put one leaf in the place of another
	for i := range e.best {
		if l := &e.best[i]; !e.gone[l.rev] {
			return l, n
		}
	}
	return nil, n
}

func (e *namedEdits) history(l *leafKV) []byte { return l.ancestors }

// dropForgotten has nothing to do: these edits bring no histories.
func (e *namedEdits) dropForgotten() ([]attachmentOf, error) { return nil, nil }
