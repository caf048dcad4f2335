package write

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/divandb/divan/layer/internal/attach"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// Transaction writes documents of one database in several steps, in one transaction of the store. Its steps check edits
// and keep them; Commit writes all of them, at the version that the steps have read. Nothing is locked: if another
// writer has changed anything that the transaction has read, Commit fails. Not safe for concurrent use.
type Transaction struct {
	at, live *db.Database // what it reads, and where it writes
	version  int64
	began    time.Time
	o        rev.WriteOptions

	docs  map[string]*ownDoc
	log   []string // the ids of the edits, in order
	size  int      // of the edits, in bytes
	reads ReadSet
}

// ownDoc is a document with edits of a transaction.
type ownDoc struct {
	edits  []pendingEdit
	states []OwnState // after each edit
	marks  []int      // the positions of the edits in the log
	// family is what the edits result in, as far as it is known. It makes checking the next one cheap.
	family *family
}

// OwnState is a document as a transaction leaves it.
type OwnState struct {
	ID      string
	Rev     db.Rev // of the winner; zero if the document is deleted
	Doc     *rev.Document
	written db.Rev // by the last edit
}

// maxOwnSize limits the edits of a transaction: with keys and indexes they must fit into one transaction of the store.
const maxOwnSize = 9_000_000

// NewTransaction begins a transaction that writes to d. at is the same database at a version that the engine holds,
// which the caller keeps until the transaction has ended. Nothing has to be closed.
func (d Database) NewTransaction(at *db.Database, version int64, user *db.UserCtx) *Transaction {
	return &Transaction{at: at, live: d.Database, version: version, began: time.Now(),
		docs: map[string]*ownDoc{}, o: rev.WriteOptions{User: user, Atomic: true}}
}

// Reads is what the transaction has read, which the caller adds to.
func (x *Transaction) Reads() *ReadSet { return &x.reads }

// Wrote reports whether the transaction has edits.
func (x *Transaction) Wrote() bool { return len(x.log) > 0 }

// Own returns a document with edits of the transaction.
func (x *Transaction) Own(id string) (OwnState, bool) { return x.OwnAt(id, len(x.log)) }

// OwnAt returns a document as the edits up to a mark leave it, if any of them is of it.
func (x *Transaction) OwnAt(id string, mark int) (OwnState, bool) {
	own := x.docs[id]
	if own == nil {
		return OwnState{}, false
	}
	n, _ := slices.BinarySearch(own.marks, mark)
	if n == 0 {
		return OwnState{}, false
	}
	return own.states[n-1], true
}

// OwnIDs returns the ids of all documents with edits, in no order.
func (x *Transaction) OwnIDs() []string {
	out := make([]string, 0, len(x.docs))
	for id := range x.docs {
		out = append(out, id)
	}
	return out
}

// Write checks edits of different documents, and keeps all of them or, if it returns an error, none. An edit continues
// the revision that Own returns for its document, or the stored one. The results are the revisions that the edits add.
// Errors are those of Put; attachments too large to be part of a transaction are TooLarge.
func (x *Transaction) Write(ctx context.Context, edits []rev.Edit) ([]db.Rev, error) {
	size := x.size
	for i := range edits {
		if err := fitsTransaction(&edits[i]); err != nil {
			return nil, err
		}
		size += editSize(&edits[i])
	}
	if size > maxOwnSize {
		return nil, fault.Errf(fault.TooLarge, "transaction_too_large", "the documents of a transaction may have %d "+
			"bytes in total, of which each needs some %d beside its text", maxOwnSize, editSize(&rev.Edit{}))
	}
	var grown []*family
	states, err := db.Read(ctx, x.at, func(t *db.Txn) (states []OwnState, err error) {
		states, grown, err = x.check(t, edits)
		return states, err
	})
	if err != nil {
		return nil, err
	}
	for i := range states {
		if err := x.complete(ctx, &states[i]); err != nil {
			return nil, err
		}
	}
	revs := make([]db.Rev, len(edits))
	for i := range edits {
		own := x.docs[edits[i].ID]
		if own == nil {
			own = &ownDoc{}
			x.docs[edits[i].ID] = own
		}
		own.edits = append(own.edits, pendingEdit{e: &edits[i]})
		own.states = append(own.states, states[i])
		own.marks = append(own.marks, len(x.log))
		own.family = grown[i]
		x.log = append(x.log, edits[i].ID)
		revs[i] = states[i].written
	}
	x.size = size
	return revs, nil
}

// fitsTransaction refuses attachments that Put would upload before its transaction.
func fitsTransaction(e *rev.Edit) error {
	size := 0
	for i := range e.Attachments {
		size += len(e.Attachments[i].Data)
	}
	if size > attach.InlineLimit {
		return fault.Errf(fault.TooLarge, "attachment_too_large",
			"the attachments of %s have more than %d bytes, which do not fit into a transaction", e.ID,
			attach.InlineLimit)
	}
	return nil
}

// check runs the stages before the first write, and returns what the edits result in. grown has, for edits of documents
// that have some already, the documents' families.
func (x *Transaction) check(t *db.Txn, edits []rev.Edit) (states []OwnState, grown []*family, err error) {
	states, grown = make([]OwnState, len(edits)), make([]*family, len(edits))
	single := make([]pendingEdit, 0, len(edits))
	places := make([]int, 0, len(edits))
	for i := range edits {
		e := &edits[i]
		own := x.docs[e.ID]
		if own == nil {
			single, places = append(single, pendingEdit{e: e}), append(places, i)
			continue
		}
		if grown[i], states[i], err = x.continued(t, own, e); err != nil {
			return nil, nil, err
		}
	}
	if err := checkEdits(t, single, x.o); err != nil {
		if own := firstError(single); own != nil {
			return nil, nil, own
		}
		return nil, nil, err
	}
	for j, i := range places {
		p := &single[j]
		states[i] = OwnState{ID: p.e.ID, written: p.rev()}
		if w := p.plan.winner(); !w.Deleted {
			states[i].Rev = w.Rev
			if w == &p.plan.added {
				states[i].Doc = p.document()
			}
		}
	}
	return states, grown, nil
}

// continued checks a further edit of a document. It takes the document's family, which has changed then.
func (x *Transaction) continued(t *db.Txn, own *ownDoc, e *rev.Edit) (f *family, s OwnState, err error) {
	if f, own.family = own.family, nil; f == nil {
		ps := slices.Clone(own.edits)
		if f, _, err = planFamily(t, ps, x.o); err == nil {
			err = firstError(ps)
		}
	}
	p := &pendingEdit{e: e}
	if err == nil {
		err = f.follow(t, p)
	}
	if err != nil {
		return nil, s, err
	}
	s = OwnState{ID: e.ID, written: p.rev()}
	if winner, _ := f.winner(); !winner.Deleted {
		s.Rev = winner.Rev
		if p := f.bodies[winner.Rev]; p != nil {
			s.Doc = p.document()
		}
	}
	return f, s, nil
}

func firstError(ps []pendingEdit) error {
	for i := range ps {
		if ps[i].err != nil {
			return ps[i].err
		}
	}
	return nil
}

// document returns the revision that an edit makes.
func (p *pendingEdit) document() *rev.Document {
	return &rev.Document{ID: p.e.ID, Rev: p.rev(), Body: p.content.body, Attachments: p.content.attachments}
}

// complete reads the winner if it is a stored revision, because the edit has deleted or extended another branch.
func (x *Transaction) complete(ctx context.Context, s *OwnState) error {
	if s.Rev.IsZero() || s.Doc != nil {
		return nil
	}
	var err error
	s.Doc, err = rev.Of(x.at).Get(ctx, s.ID, rev.GetOptions{Rev: s.Rev})
	return err
}

// Mark returns a position that RollBack can return to.
func (x *Transaction) Mark() int { return len(x.log) }

// RollBack forgets the edits since a mark.
func (x *Transaction) RollBack(mark int) {
	for len(x.log) > mark {
		id := x.log[len(x.log)-1]
		x.log = x.log[:len(x.log)-1]
		own := x.docs[id]
		last := len(own.edits) - 1
		own.family = nil
		x.size -= editSize(own.edits[last].e)
		if last == 0 {
			delete(x.docs, id)
			continue
		}
		own.edits, own.states, own.marks = own.edits[:last], own.states[:last], own.marks[:last]
	}
}

// ErrMoved is the conflict of a transaction with another writer.
var ErrMoved = fault.Errf(fault.Conflict, "transaction_conflict",
	"another writer has changed what the transaction has read or written")

// ErrTooOld is the error of a transaction that has taken longer than the engine allows.
var ErrTooOld = fault.Errf(fault.Timeout, "transaction_too_old",
	"the transaction has taken longer than the %d seconds that the store allows for one that writes",
	kv.TransactionSeconds)

// Commit writes all edits in one transaction of the store, or fails and writes nothing. The error is ErrMoved after a
// conflict, ErrTooOld if the version that was read is too old, and TooLarge if the edits are too much for a
// transaction. If the connection to the store fails, an error for which kv.MaybeCommitted is true says that the
// transaction may have been committed. Without edits there is nothing to commit.
func (x *Transaction) Commit(ctx context.Context) error {
	if len(x.log) == 0 {
		return nil
	}
	_, _, err := db.TransactAt(ctx, x.live, x.version, ErrMoved, func(t *db.Txn) (struct{}, error) {
		return struct{}{}, x.write(t)
	})
	if (errors.Is(err, ErrMoved) || kv.Retryable(err)) && !kv.MaybeCommitted(err) {
		if err = ErrMoved; time.Since(x.began) > kv.TransactionSeconds*time.Second {
			err = ErrTooOld
		}
	}
	return err
}

// write takes all edits through the stages. Edits of several documents are read together, also as ranges that contain
// other documents, so everything is read before the first document is written.
func (x *Transaction) write(t *db.Txn) error {
	x.reads.conflict(t)
	var single []pendingEdit
	var families []*family
	seen := make(map[string]bool, len(x.docs))
	for _, id := range x.log {
		own := x.docs[id]
		if seen[id] {
			continue
		}
		seen[id] = true
		if len(own.edits) == 1 {
			single = append(single, own.edits[0])
			continue
		}
		f, err := x.family(t, own)
		if err != nil {
			return err
		}
		families = append(families, f)
	}
	_, err := writeEdits(t, single, x.o)
	if own := firstError(single); own != nil {
		return own
	}
	for i := 0; err == nil && i < len(families); i++ {
		err = families[i].write(families[i].edits)
	}
	return err
}

// family takes the edits of a document through the stages before the first write.
func (x *Transaction) family(t *db.Txn, own *ownDoc) (*family, error) {
	f, _, err := planFamily(t, slices.Clone(own.edits), x.o)
	if err == nil {
		err = firstError(f.edits)
	}
	if err == nil {
		err = f.mapOutcome(f.edits)
	}
	return f, err
}

// ReadSet is a set of documents and ranges of ids that a transaction has read. The zero value is empty.
type ReadSet struct {
	ids    map[string]bool
	ranges []idRange
	all    bool // everything about the database
}

// idRange is Low <= id < High; an empty High is no bound.
type idRange struct{ low, high string }

// maxReads limits the members of a ReadSet. Beyond it, the set contains everything.
const maxReads = 20_000

// Document adds a document, which may not exist.
func (r *ReadSet) Document(id string) {
	if r.all || r.ids[id] || len(id) > db.MaxIDLength { // no document can have a longer id
		return
	}
	if r.ids == nil {
		r.ids = map[string]bool{}
	}
	r.ids[id] = true
	r.limit()
}

// Range adds the documents from low on and below high; an empty high is no bound.
func (r *ReadSet) Range(low, high string) {
	if len(low) > db.MaxIDLength {
		low = low[:db.MaxIDLength]
	}
	if len(high) > db.MaxIDLength {
		high = high[:db.MaxIDLength] + "\xff" // no id contains this byte
	}
	if add := (idRange{low, high}); !r.all && !slices.Contains(r.ranges, add) {
		r.ranges = append(r.ranges, add)
		r.limit()
	}
}

// Everything adds all that a write changes, such as views, the feed and local documents.
func (r *ReadSet) Everything() { *r = ReadSet{all: true} }

func (r *ReadSet) limit() {
	if len(r.ids)+len(r.ranges) > maxReads || len(r.ranges) > maxReads/20 {
		r.Everything()
	}
}

// conflict makes the transaction conflict with writers of what has been read. Each edit of a document changes its key
// in AllDocs, or is not visible to a reader of documents, and each edit changes a key in Revisions.
func (r *ReadSet) conflict(t *db.Txn) {
	if r.all {
		t.AddReadConflict(db.PrefixRange(t.Keys.Sub(nil, keyspace.Revisions)))
		t.AddReadConflict(db.PrefixRange(t.Keys.Sub(nil, keyspace.Local)))
		return
	}
	for id := range r.ids {
		t.AddReadConflict(db.SingleKey(t.Keys.Doc(nil, keyspace.AllDocs, id)))
	}
	for _, i := range r.ranges {
		all := db.PrefixRange(t.Keys.Sub(nil, keyspace.AllDocs))
		if i.low != "" {
			all.Begin = t.Keys.Doc(nil, keyspace.AllDocs, i.low)
		}
		if i.high != "" {
			all.End = t.Keys.Doc(nil, keyspace.AllDocs, i.high)
		}
		t.AddReadConflict(all)
	}
}
