package layer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/faultkv"
	"github.com/divandb/divan/layer/script"
	"github.com/divandb/divan/layer/tuple"
)

// verifyEngine does not support snapshots. It counts the reads of transactions, and can make the reads of one database
// fail.
type verifyEngine struct {
	kv.Engine
	mu    sync.Mutex
	fails *layer.Database           // the documents of this database cannot be read
	most  map[keyspace.Subspace]int // the most rows of ranges that one transaction has read
	gets  trips                     // of counters by key
	read  int                       // number of counters read by key
	old   int                       // number of the read that fails because the transaction is too old; 0 means none
	looks trips                     // reads for the first document of a partition
}

// trips counts round trips. Reads that are issued together share one.
type trips struct {
	n      int
	issued bool // one is in progress
}

func (t *trips) issue() {
	if !t.issued {
		t.n, t.issued = t.n+1, true
	}
}

func (e *verifyEngine) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.most, e.gets, e.looks, e.read, e.old = map[keyspace.Subspace]int{}, trips{}, trips{}, 0, 0
}

func (e *verifyEngine) Begin(ctx context.Context) kv.Transaction {
	return &verifyTransaction{Transaction: e.Engine.Begin(ctx), e: e, rows: map[keyspace.Subspace]int{}}
}

type verifyTransaction struct {
	kv.Transaction
	e    *verifyEngine
	rows map[keyspace.Subspace]int
}

func (t *verifyTransaction) Snapshot() kv.Reader { return verifyReader{t.Transaction.Snapshot(), t} }

type verifyReader struct {
	kv.Reader
	t *verifyTransaction
}

// partOf returns the database and the subspace of a key.
func partOf(key []byte) (database int64, part keyspace.Subspace) {
	data, rest, err := tuple.TakeInt(key)
	if err != nil || data != int64(keyspace.Data) {
		return 0, 0
	}
	if database, rest, err = tuple.TakeInt(rest); err != nil {
		return 0, 0
	}
	n, _, err := tuple.TakeInt(rest)
	if err != nil {
		return 0, 0
	}
	return database, keyspace.Subspace(n)
}

func (r verifyReader) Get(key []byte) kv.Future[[]byte] {
	f := r.Reader.Get(key)
	if _, part := partOf(key); part != keyspace.Counters {
		return f
	}
	e := r.t.e
	e.mu.Lock()
	defer e.mu.Unlock()
	e.gets.issue()
	e.read++
	return verifyFuture{f, e, e.read == e.old}
}

type verifyFuture struct {
	kv.Future[[]byte]
	e   *verifyEngine
	old bool
}

func (f verifyFuture) Wait() ([]byte, error) {
	f.e.mu.Lock()
	f.e.gets.issued = false
	f.e.mu.Unlock()
	if f.old {
		return nil, kv.NewError(kv.CodeTooOld, "too old", nil)
	}
	return f.Future.Wait()
}

func (r verifyReader) GetRange(in kv.Range, o kv.RangeOptions) kv.RangeIterator {
	begin, end := in.Selectors()
	database, part := partOf(begin.Key)
	if string(end.Key) == "\xff" {
		part = 0 // the whole store is read, from where that stopped
	}
	e := r.t.e
	e.mu.Lock()
	defer e.mu.Unlock()
	rows := &verifyRows{RangeIterator: r.Reader.GetRange(in, o), t: r.t, part: part}
	if part == keyspace.Revisions && e.fails != nil && database == e.fails.Number() {
		rows.fails = errUnreadable
	}
	if rows.look = part == keyspace.Revisions && o.Limit == 1 && !o.Reverse; rows.look {
		e.looks.issue()
	}
	return rows
}

var errUnreadable = errors.New("no such luck")

type verifyRows struct {
	kv.RangeIterator
	t     *verifyTransaction
	part  keyspace.Subspace
	look  bool
	fails error
}

func (r *verifyRows) Next() bool {
	e := r.t.e
	e.mu.Lock()
	if r.look {
		e.looks.issued = false
	}
	e.mu.Unlock()
	if r.fails != nil || !r.RangeIterator.Next() {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	r.t.rows[r.part]++
	e.most[r.part] = max(e.most[r.part], r.t.rows[r.part])
	return true
}

func (r *verifyRows) Err() error {
	if r.fails != nil {
		return r.fails
	}
	return r.RangeIterator.Err()
}

// verifyFew is verifyAll with few rows in each transaction. It retries when the store is not ready.
func verifyFew(t *testing.T, s *layer.Store, rows int) (lines []string, err error) {
	t.Helper()
	for {
		o := layer.VerifyOptions{Damage: func(d *layer.Damage) error {
			lines = append(lines, d.String())
			return nil
		}}
		_, err = s.Verify(t.Context(), layer.ReadFew(layer.RememberFew(o, 50), rows))
		if !kv.Retryable(err) {
			return lines, err
		}
		lines = nil
	}
}

// plantIn damages a database until the end of the test.
func plantIn(t *testing.T, e *verifyEngine, d *layer.Database, plant func(p *planted)) {
	t.Helper()
	p := &planted{t: t, db: d.Number()}
	transact := func(f func(tx kv.Transaction)) {
		_, _, err := kv.Transact(context.Background(), e.Engine, kv.TransactOptions{},
			func(tx kv.Transaction) (struct{}, error) {
				f(tx)
				return struct{}{}, nil
			})
		if err != nil {
			t.Error(err)
		}
	}
	transact(func(tx kv.Transaction) {
		p.tx = &planter{Transaction: tx, t: t, was: map[string][]byte{}}
		plant(p)
	})
	t.Cleanup(func() { transact(p.tx.mend) })
}

func wantNoFaults(t *testing.T, lines []string, err error) {
	t.Helper()
	if err != nil || len(lines) > 0 {
		t.Fatalf("Verify says %q, %v", lines, err)
	}
}

// A partial aggregate that was computed over an empty view covers all rows written since. They may be more than one
// transaction can read.
func TestVerify_manyRowsUnderAPartial(t *testing.T) {
	const rows, few = 300, 40
	e := &verifyEngine{Engine: mustEngine(t)}
	e.forget()
	s := openViewStore(t, e)
	d := mustCreate(t, s, "db", layer.CreateOptions{})
	put(t, d, `{"_id":"_design/v","views":{"n":{"map":"function(doc) { if (doc.n) emit(doc.n, 1) }","reduce":"_sum"}}}`)
	ix := d.Index(mustDesign(t, d, "v"))
	build(t, ix, 1, 5)
	if err := ix.Aggregate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		put(t, d, fmt.Sprintf(`{"_id":"doc%d","n":%d}`, i, i+1))
	}
	if _, err := ix.CatchUp(t.Context(), 2*rows); err != nil {
		t.Fatal(err)
	}
	e.forget()
	lines, err := verifyFew(t, s, few)
	wantNoFaults(t, lines, err)
	if n := e.most[keyspace.Views]; n < few || n > 3*few {
		t.Errorf("a transaction has read %d rows of views, more than %d", n, few)
	}
	e.forget()
	lines, err = verifyFew(t, s, 10*rows)
	wantNoFaults(t, lines, err)
	if n := e.most[keyspace.Views]; n < 2*rows {
		t.Errorf("there are no rows under a sum: a transaction has read %d", n)
	}
}

// The counters of many partitions are read in one round trip, and so are the first documents of many partitions.
func TestVerify_manyPartitions(t *testing.T) {
	const partitions = 150
	e := &verifyEngine{Engine: mustEngine(t)}
	e.forget()
	s := openViewStore(t, e)
	d := mustCreate(t, s, "db", layer.CreateOptions{Partitioned: true})
	for i := range partitions {
		put(t, d, fmt.Sprintf(`{"_id":"p%03d:doc"}`, i))
	}
	e.forget()
	lines, err := verifyFew(t, s, 0)
	wantNoFaults(t, lines, err)
	read, gets, looks := e.read, e.gets.n, e.looks.n
	for i := range 10 { // also near the end of a walk, when some of it is done
		e.forget()
		e.old = read * (i + 1) / 10
		lines, err := verifyFew(t, s, 0)
		wantNoFaults(t, lines, err)
	}
	if faultkv.Enabled() || faultkv.Short() {
		return // after a failed transaction fewer are read together
	}
	if gets > partitions/4 || looks == 0 || looks > partitions/4 {
		t.Errorf("%d partitions take %d round trips for counters and %d for documents", partitions, gets, looks)
	}
}

// The queue for compaction is read in transactions of few rows, however many parts it has, and completely: a body that
// is missing from it is reported.
func TestVerify_longQueue(t *testing.T) {
	const docs, few = 120, 30
	e := &verifyEngine{Engine: mustEngine(t)}
	e.forget()
	s := openViewStore(t, e)
	d := mustCreate(t, s, "db", layer.CreateOptions{Shards: 8})
	var edits []layer.Edit
	for i := range docs {
		id := fmt.Sprintf("doc%03d", i)
		first := put(t, d, fmt.Sprintf(`{"_id":%q}`, id))
		edits = append(edits, edit(t, fmt.Sprintf(`{"_id":%q,"_rev":%q}`, id, first)))
	}
	if _, err := d.Bulk(t.Context(), edits, layer.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	e.forget()
	lines, err := verifyFew(t, s, few)
	wantNoFaults(t, lines, err)
	if n := e.most[keyspace.ShardSuperseded]; n < few || n > 2*few {
		t.Errorf("a transaction has read %d rows of the queue, of %d", n, docs)
	}
	plantIn(t, e, d, func(p *planted) {
		rows := p.rows(keyspace.ShardSuperseded)
		p.tx.Clear(rows[len(rows)-1].Key)
	})
	if lines, err = verifyFew(t, s, few); err != nil ||
		strings.Count(strings.Join(lines, "\n"), "its body is not in the compaction queue") != 1 {
		t.Errorf("a body is not in the queue: %q, %v", lines, err)
	}
}

// If one database cannot be checked, the others are, and the result says which one was not.
func TestVerify_notCompared(t *testing.T) {
	e := &verifyEngine{Engine: mustEngine(t)}
	e.forget()
	s := openViewStore(t, e)
	var all []*layer.Database
	for _, name := range []string{"a", "b", "c"} {
		d := mustCreate(t, s, name, layer.CreateOptions{})
		put(t, d, `{"_id":"x"}`)
		all = append(all, d)
	}
	plantIn(t, e, all[2], func(p *planted) { p.tx.Clear(p.rows(keyspace.AllDocs)[0].Key) })
	e.fails = all[1]
	lines, err := verifyFew(t, s, 0)
	var domain *layer.Error
	if !errors.As(err, &domain) || domain.Name != "not_compared" || !errors.Is(err, errUnreadable) ||
		!strings.HasPrefix(domain.Reason, "1 database could not be compared; b: ") {
		t.Errorf("b cannot be compared: %v", err)
	}
	if len(lines) != 1 || !strings.HasPrefix(lines[0], "database c: ") {
		t.Errorf("c is damaged: %q", lines)
	}
	e.fails = nil
	told := errors.New("nobody listens")
	for err = kv.NewError(kv.CodeTooOld, "", nil); kv.Retryable(err); {
		_, err = s.Verify(t.Context(), layer.VerifyOptions{Damage: func(*layer.Damage) error { return told }})
	}
	if !errors.Is(err, told) || errors.As(err, &domain) {
		t.Errorf("an error of the callback: %v", err)
	}
}

// An unreadable row of a database's name is reported, and the other databases are checked.
func TestVerify_unreadableName(t *testing.T) {
	e := &verifyEngine{Engine: mustEngine(t)}
	e.forget()
	s := openViewStore(t, e)
	for _, name := range []string{"a", "b", "c"} {
		put(t, mustCreate(t, s, name, layer.CreateOptions{}), `{"_id":"x"}`)
	}
	c, err := s.Database(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	plantIn(t, e, c, func(p *planted) { p.tx.Clear(p.rows(keyspace.AllDocs)[0].Key) })
	name := tuple.Tuple{int64(keyspace.Databases), "b"}.Pack()
	_, _, err = kv.Transact(t.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
		tx.Set(name, []byte{9})
		return struct{}{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	lines, err := verifyFew(t, s, 0)
	if err != nil {
		t.Error(err)
	}
	told := strings.Join(lines, "\n")
	for _, want := range []string{"database b: the names of databases: ", `database c: the list of documents "x": `} {
		if strings.Count(told, want) != 1 {
			t.Errorf("Verify says %q, want %q once", lines, want)
		}
	}
	_, err = s.Verify(t.Context(), layer.VerifyOptions{Database: "b", Damage: func(d *layer.Damage) error {
		lines = append(lines, d.String())
		return nil
	}})
	if err != nil || !strings.HasPrefix(lines[len(lines)-1], "database b: the names of databases: ") {
		t.Errorf("Verify of b says %q, %v", lines, err)
	}
}

// Indexes in languages that this node does not support are skipped. So are rows of a document whose map function
// exceeded the time limit during indexing, or exceeds it now: the machine may have been busy.
func TestVerify_notToBeMapped(t *testing.T) {
	e := &verifyEngine{Engine: mustEngine(t)}
	e.forget()
	slow, short := openViewStore(t, e), script.New(script.Options{Limits: script.Limits{Time: time.Millisecond}})
	hasty, err := layer.Open(t.Context(), e, layer.Options{Scripts: short})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(hasty.Close(), short.Close()); err != nil {
			t.Error(err)
		}
	})
	for i, s := range []*layer.Store{slow, hasty} {
		d := mustCreate(t, s, fmt.Sprint("db", i), layer.CreateOptions{})
		put(t, d, `{"_id":"_design/other","language":"query","views":{"n":{"map":"no JavaScript"}}}`)
		put(t, d, `{"_id":"_design/v","views":{
			"n":{"map":"function(doc) { for (var i = 0; i < 3000000; i++); emit(doc._id) }"},
			"m":{"map":"function(doc) { emit(doc._id) }"}}}`)
		put(t, d, `{"_id":"x"}`)
		build(t, d.Index(mustDesign(t, d, "v")), int64(i+1), 10)
	}
	for i, s := range []*layer.Store{slow, hasty} {
		for _, name := range []string{"db0", "db1"} {
			_, err := s.Verify(t.Context(), layer.VerifyOptions{Database: name, Damage: func(d *layer.Damage) error {
				t.Errorf("%s, by store %d: %s", name, i, d)
				return nil
			}})
			if err != nil {
				t.Errorf("%s, by store %d: %v", name, i, err)
			}
		}
	}
	d, err := slow.Database(t.Context(), "db0")
	if err != nil {
		t.Fatal(err)
	}
	plantIn(t, e, d, func(p *planted) { p.tx.Clear(p.viewRow(keyspace.ViewIDs, 1).Key) })
	if lines, err := verifyFew(t, slow, 0); err != nil || len(lines) == 0 {
		t.Errorf("an index behind that of another language is broken: %q, %v", lines, err)
	}
}
