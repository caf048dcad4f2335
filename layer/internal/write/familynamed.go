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
	limit  int // of the read of best
}

func (e *namedEdits) read(ps []pendingEdit) error {
	t := e.t
	e.named, e.gone = make(map[db.Rev]*rev.LeafKV, len(ps)), map[db.Rev]bool{}
	for i := range ps {
		if p := &ps[i]; p.err == nil && !p.e.Rev.IsZero() {
			p.found.leaf = t.Get(t.Close(t.Keys.Revision(t.Open(), e.id, false, p.e.Rev)))
		}
	}
	if err := e.readBest(len(ps) + 1); err != nil {
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
		if err := e.takeNamed(p); err != nil {
			return err
		}
	}
	if len(ps) > 1 && t.Spent+rev.SizeOf(e.best) > 2*db.ReadBudget {
		return db.ErrDivide
	}
	return nil
}

// readBest reads the best stored leaves, at most limit.
func (e *namedEdits) readBest(limit int) (err error) {
	prefix := e.t.Keys.Doc(nil, keyspace.Revisions, e.id)
	rows := db.GetRange(e.t, prefix, kv.RangeOptions{Reverse: true, Limit: limit, Mode: kv.ModeExact})
	e.limit = limit
	e.best, err = rev.ReadLeaves(rows, len(prefix), true, nil)
	return err
}

// takeNamed waits for the leaf that an edit names.
func (e *namedEdits) takeNamed(p *pendingEdit) error {
	value, err := p.found.leaf.Wait()
	if p.found.leaf = nil; err != nil || value == nil {
		return err
	}
	l := &rev.LeafKV{Rev: p.e.Rev}
	if err := rev.ParseLeafValue(l, value, true); err != nil {
		return err
	}
	e.t.Spent += rev.LeafOverhead + len(value)
	e.named[l.Rev] = l
	return nil
}

// readMore reads what one more edit needs.
func (e *namedEdits) readMore(p *pendingEdit) error {
	r := p.e.Rev
	if !r.IsZero() && e.added[r] == nil && e.named[r] == nil {
		p.found.leaf = e.t.Get(e.t.Close(e.t.Keys.Revision(e.t.Open(), e.id, false, r)))
		if err := e.takeNamed(p); err != nil {
			return err
		}
	}
	if need := len(e.gone) + 2; need > e.limit && len(e.best) == e.limit {
		return e.readBest(need)
	}
	return nil
}

func (e *namedEdits) plan(p *pendingEdit) error {
	if p.e.Rev.IsZero() {
		return e.insert(p)
	}
	old := e.added[p.e.Rev]
	if old == nil && !e.gone[p.e.Rev] {
		old = e.named[p.e.Rev]
	}
	if old == nil || old.Deleted {
		return errConflict()
	}
	p.plan = e.extending(old, p.e.Deleted)
	return nil
}

// extending is the function extending for a document that may be new.
func (e *namedEdits) extending(old *rev.LeafKV, deleted bool) plan {
	before := e.before
	if before == nil {
		before = &rev.LeafKV{}
	}
	p := extending(old, before, nil, deleted, e.t.Cfg.RevsLimit)
	p.before = e.before
	return p
}

// insert plans an edit without a parent, as pendingEdit.insert does for a single one.
func (e *namedEdits) insert(p *pendingEdit) error {
	switch winner, _ := e.winner(); {
	case winner == nil:
		p.plan = plan{hasAdded: true, branches: 1, added: rev.LeafKV{Rev: db.Rev{Pos: 1}, Deleted: p.e.Deleted}}
	case !winner.Deleted || p.e.Deleted:
		return errConflict()
	default:
		p.plan = e.extending(winner, p.e.Deleted)
		p.plan.old, p.plan.parent = db.Rev{}, db.Rev{}
	}
	return nil
}

func (e *namedEdits) take(p *pendingEdit) {
	if len(p.plan.replaced) == 0 {
		e.leaves++ // the first revision of a new document
	}
	for _, old := range p.plan.replaced {
		e.replace(old.Rev, func() *rev.LeafKV {
			e.gone[old.Rev] = true
			return old
		})
	}
	added := p.plan.added
	e.added[added.Rev] = &added
}

func (e *namedEdits) rest() (*rev.LeafKV, int64) {
	n := e.leaves // each edit replaces one leaf by another, except one that creates the document
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
