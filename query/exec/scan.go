package exec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Field is the part of a Row that a column of a user relation shows.
type Field uint8

// The fields.
const (
	FieldID Field = iota
	FieldRev
	FieldSeq
	FieldShard
	FieldDeleted
	FieldKey
	FieldValue
	FieldDoc
	FieldCount
)

func (f Field) typ() types.OID {
	switch f {
	case FieldCount:
		return types.Int8
	case FieldDeleted:
		return types.Bool
	case FieldKey, FieldValue, FieldDoc:
		return types.JSONB
	}
	return types.Text
}

// AccessKind names a read of Database.
type AccessKind uint8

// The reads.
const (
	ReadDocument AccessKind = iota
	ReadAllDocs
	ReadLocalDocs
	ReadConflicts
	ReadChanges
	ReadView
	ReadReduce
	ReadCount
)

// Access is one read of the store. A Scan makes one or several in sequence, whose rows together are in the order of the
// scan.
type Access struct {
	Kind AccessKind
	// ID is for ReadDocument, Docs for ReadAllDocs, ReadLocalDocs and ReadConflicts, and so on. ReadCount counts all
	// documents, and of Docs it observes only NoDesigns.
	ID      string
	Docs    DocsRead
	Changes ChangesRead
	View    ViewRead
	Reduce  ReduceRead // its bounds are inclusive and cannot be narrowed afterwards
	// LowOpen and HighOpen exclude the bounds of View, which are inclusive in the store. The scan skips rows with these
	// keys.
	LowOpen, HighOpen bool
	// Until ends a change feed after that sequence, or before it if UntilOpen is set; "" for no end.
	Until     string
	UntilOpen bool
}

// Target is a column that a Scan fills.
type Target struct {
	Field Field
	Index int // in env.Row
}

// PartitionSetting is the session's setting for the partition in which views of partitioned design documents are read.
const PartitionSetting = "divan.partition"

// IndexesSetting is the session's setting that lets reads of documents use views.
const IndexesSetting = "divan.use_indexes"

// Scan reads a user relation.
type Scan struct {
	Name     string // of the relation, for EXPLAIN
	DB       Database
	Accesses []Access
	Targets  []Target
	// Via is the view through which documents are read, or "". Suggestion is an index that would help.
	Via, Suggestion string
	// Partitioned is set for a view of a partitioned design document. Partition is the partition to read, or "" for
	// all, one after the other.
	Partitioned bool
	Partition   string
	// ByKeys, if not nil, returns the reads of those rows alone whose id or key, the column that the read is sorted by,
	// is one of some values. They may return further rows.
	ByKeys func(values []types.Datum) ([]Access, error)

	narrowed []Access // instead of Accesses, if narrow is set
	narrow   bool
	keys     int // that it was narrowed to
	env      *Env
	rows     Rows
	at       int   // index of the open access
	batch    []Row // of rows, that have not been returned
	row      *Row
	one      Row  // the row, if rows come one by one
	leading  bool // still at rows whose key is the excluded lower bound
	examined int64
	skipped  int64 // by reads that have ended
}

func (s *Scan) Open(env *Env) error {
	s.env, s.at = env, -1
	return nil
}

// Narrow makes the next run return only rows with one of some values; see ByKeys.
func (s *Scan) Narrow(values []types.Datum) (err error) {
	s.narrow, s.keys = true, len(values)
	s.narrowed, err = s.ByKeys(values)
	return err
}

// Widen ends what Narrow began.
func (s *Scan) Widen() { s.narrow, s.narrowed = false, nil }

func (s *Scan) reads() []Access {
	if s.narrow {
		return s.narrowed
	}
	return s.Accesses
}

func (s *Scan) Close() {
	if s.rows != nil {
		s.skipped += skipped(s.rows)
		_ = s.rows.Close()
		s.rows, s.batch = nil, nil
	}
}

func skipped(rows Rows) int64 {
	if k, ok := rows.(Skipper); ok {
		return k.Skipped()
	}
	return 0
}

func (s *Scan) Next() (bool, error) {
	for {
		if s.rows == nil {
			s.at++
			if s.at >= len(s.reads()) {
				s.at = len(s.reads())
				return false, nil
			}
			if err := s.open(&s.reads()[s.at]); err != nil {
				return false, StoreError(err)
			}
		}
		if err := s.advance(); err != nil {
			switch {
			case errors.Is(err, io.EOF):
				s.Close()
				continue
			case !errors.Is(err, ErrIdle):
				return false, StoreError(err)
			case s.env.NoWait:
				return false, ErrIdle
			}
			continue
		}
		s.examined++
		if err := s.env.Step(1 + (len(s.row.Doc)+len(s.row.Value))>>9); err != nil {
			return false, err
		}
		use, end, err := s.within(&s.reads()[s.at])
		if err != nil {
			return false, err
		}
		if end {
			s.Close()
			continue
		}
		if use {
			s.fill()
			return true, nil
		}
	}
}

// advance sets the next row.
func (s *Scan) advance() error {
	if len(s.batch) == 0 {
		b, ok := s.rows.(Batcher)
		if !ok {
			s.row = &s.one
			return s.rows.Next(s.env.Ctx, s.row)
		}
		var err error
		if s.batch, err = b.Batch(s.env.Ctx); err != nil {
			return err
		}
	}
	s.row, s.batch = &s.batch[0], s.batch[1:]
	return nil
}

// within applies the bounds that the store does not support: exclusive ends of a key range and the end of a feed.
func (s *Scan) within(a *Access) (use, end bool, err error) {
	switch a.Kind {
	case ReadChanges:
		if a.Changes.Descending && s.row.Seq <= a.Changes.Since {
			return false, true, nil
		}
		if a.Until == "" {
			return true, false, nil
		}
		after := s.row.Seq > a.Until || s.row.Seq == a.Until && a.UntilOpen
		if a.Changes.Descending {
			return !after, false, nil
		}
		return !after, after, nil
	case ReadView:
		first, last := a.View.Low, a.View.High
		firstOpen, lastOpen := a.LowOpen, a.HighOpen
		// With several partitions, each has rows at both ends of the range.
		several := s.Partitioned && s.Partition == ""
		if a.View.Descending {
			first, last, firstOpen, lastOpen = last, first, lastOpen, firstOpen
		}
		if s.leading && firstOpen && first != nil {
			if c, err := types.CompareJSON(text(s.row.Key), text(first)); err != nil || c == 0 {
				return false, false, err
			}
			s.leading = several
		}
		if lastOpen && last != nil {
			c, err := types.CompareJSON(text(s.row.Key), text(last))
			return c != 0, c == 0 && !several, err
		}
	}
	return true, false, nil
}

func text(raw []byte) string { return types.NewJSON(raw).S }

func (s *Scan) open(a *Access) (err error) {
	ctx := s.env.Ctx
	s.leading = true
	switch a.Kind {
	case ReadDocument:
		s.rows = &oneDocument{db: s.DB, id: a.ID, withDoc: a.Docs.WithDoc}
	case ReadAllDocs:
		s.rows, err = s.DB.AllDocs(ctx, a.Docs)
	case ReadLocalDocs:
		s.rows, err = s.DB.LocalDocs(ctx, a.Docs)
	case ReadConflicts:
		s.rows, err = s.DB.Conflicts(ctx, a.Docs)
	case ReadChanges:
		read := a.Changes
		if read.Descending {
			read.Since = "" // the scan ends the read itself
		}
		s.rows, err = s.DB.Changes(ctx, read)
	case ReadView:
		read := a.View
		read.Partition = s.Partition
		s.rows, err = s.DB.View(ctx, read)
	case ReadReduce:
		r, ok := s.DB.(Reducer)
		if !ok {
			return sqlstate.New(sqlstate.InternalError, "reduce read planned on a store without it")
		}
		read := a.Reduce
		read.Partition = s.Partition
		s.rows, err = r.Reduce(ctx, read)
	case ReadCount:
		c, ok := s.DB.(Counter)
		if !ok {
			return sqlstate.New(sqlstate.InternalError, "count planned on a store without it")
		}
		s.rows = &oneCount{db: c, noDesigns: a.Docs.NoDesigns}
	}
	return err
}

// fill copies the needed fields into the row buffer.
func (s *Scan) fill() {
	r := s.row
	for _, t := range s.Targets {
		var d types.Datum
		switch t.Field {
		case FieldID:
			d = types.NewText(r.ID)
		case FieldRev:
			d = types.NewText(r.Rev)
		case FieldSeq:
			d = types.NewText(r.Seq)
		case FieldShard:
			d = types.NewText(r.Shard)
		case FieldDeleted:
			d = types.NewBool(r.Deleted)
		case FieldKey:
			d = jsonOrNull(r.Key)
		case FieldValue:
			d = jsonOrNull(r.Value)
		case FieldDoc:
			d = jsonOrNull(r.Doc)
		case FieldCount:
			if a := &s.reads()[s.at]; a.Kind == ReadCount || a.Reduce.Count {
				d = types.NewInt(r.Count)
			}
		}
		s.env.Row[t.Index] = d
	}
}

// jsonOrNull returns SQL's NULL for a missing value. A JSON null stays a JSON null.
func jsonOrNull(raw []byte) types.Datum {
	if raw == nil {
		return types.Null
	}
	return types.NewJSON(raw)
}

// oneDocument implements Rows by Database.Document.
type oneDocument struct {
	db      Database
	id      string
	withDoc bool
	done    bool
}

func (o *oneDocument) Close() error { return nil }

// oneCount implements Rows by Counter.
type oneCount struct {
	db              Counter
	noDesigns, done bool
}

func (o *oneCount) Close() error { return nil }

// Next implements Rows.
func (o *oneCount) Next(ctx context.Context, row *Row) (err error) {
	if o.done {
		return io.EOF
	}
	o.done, *row = true, Row{}
	row.Count, err = o.db.Count(ctx, o.noDesigns)
	return err
}

// StoreError maps the error of a read to an SQLSTATE. All errors of a Database or a Catalog pass through it.
func StoreError(err error) error {
	var re *ReadError
	if !errors.As(err, &re) {
		return err
	}
	code := map[Kind]sqlstate.Code{Internal: sqlstate.InternalError, NotFound: sqlstate.UndefinedTable,
		Forbidden: sqlstate.InsufficientPrivilege,
		Invalid:   sqlstate.InvalidParameterValue, Timeout: sqlstate.QueryCanceled,
		Unavailable: sqlstate.CannotConnectNow,
		TooLarge:    sqlstate.ProgramLimitExceeded, Unsupported: sqlstate.FeatureNotSupported, Full: sqlstate.DiskFull,
		Stale: sqlstate.SerializationFailure, Expired: sqlstate.SnapshotTooOld, Exists: sqlstate.UniqueViolation,
		Refused: sqlstate.CheckViolation, Overdue: sqlstate.TransactionTimeout,
		Irreducible: sqlstate.InvalidParameterValue, Unknown: sqlstate.CommitUnknown}[re.Kind]
	e := &sqlstate.Error{Code: code, Message: re.Error(), Err: err}
	switch re.Kind {
	case Exists:
		return sqlstate.Duplicate(re.Message)
	case Overdue:
		e.Hint = "Nothing has been written. Write sooner after the first read of the transaction, or less."
	case Unknown:
		e.Hint = "Read the documents before writing them again."
	case Expired:
		e.Hint = "The store keeps a snapshot for a few seconds (FoundationDB for five). Begin a new transaction that " +
			"reads less, or one that is READ COMMITTED."
	}
	return e
}

// DatabaseError is StoreError for opening a database, where NotFound means the database.
func DatabaseError(name string, err error) error {
	switch KindOf(err) {
	case NotFound:
		return sqlstate.New(sqlstate.InvalidCatalogName, `database "%s" does not exist`, name)
	case Forbidden:
		return sqlstate.New(sqlstate.InsufficientPrivilege, `permission denied for database "%s"`, name)
	}
	return StoreError(err)
}

// Describe shows the read and its bounds.
func (s *Scan) Describe() *Description {
	d := &Description{Rows: s.examined, Examined: s.examined + s.skipped + skipped(s.rows)}
	accesses := s.reads()
	if len(accesses) == 0 {
		d.Node = "Nothing on " + s.Name
		return d
	}
	a := &accesses[0]
	d.Reads, d.Columns = accesses, make([]types.OID, len(s.Targets))
	for i, t := range s.Targets {
		d.Columns[i] = t.Field.typ()
	}
	d.Node = accessNames[a.Kind] + " on " + s.Name
	if a.Kind == ReadView && a.View.Keys != nil {
		d.Node = "View Keys Read on " + s.Name
	}
	var bounds []string
	for i := range accesses {
		if i == 10 {
			bounds = append(bounds, fmt.Sprintf("... and %d more", len(accesses)-10))
			break
		}
		if accesses[i].Reduce.Count && !a.Reduce.Count {
			break // the same ranges again
		}
		if b := accesses[i].bounds(); b != "" {
			bounds = append(bounds, b)
		}
	}
	if s.Via != "" {
		d.Add("Index", s.Via)
	}
	if len(bounds) > 0 {
		d.Add("Range", strings.Join(bounds, " or "))
	}
	if s.Partitioned {
		partition := "each, in the order of their names"
		if s.Partition != "" {
			partition = quote(s.Partition)
		}
		d.Add("Partition", partition)
	}
	desc, limit, skip, doc := a.options()
	if desc {
		d.Add("Order", "descending")
	}
	if limit > 0 {
		d.Add("Read Limit", limit)
	}
	if skip > 0 {
		d.Add("Read Skip", skip)
	}
	if doc {
		d.Add("Documents", "yes")
	}
	update := a.View.Update
	if a.Kind == ReadReduce {
		update = a.Reduce.Update
		switch last := &accesses[len(accesses)-1]; {
		case a.Reduce.Count:
			d.Add("Reduction", "number of rows")
		case last.Reduce.Count:
			d.Add("Reduction", a.Reduce.Function+", number of rows")
		default:
			d.Add("Reduction", a.Reduce.Function)
		}
		d.Add("Group Level", map[bool]any{true: "whole key", false: a.Reduce.GroupLevel}[a.Reduce.GroupLevel < 0])
	}
	if s.Suggestion != "" {
		d.Add("Suggestion", s.Suggestion)
	}
	if update != UpdateTrue {
		d.Add("Update", map[UpdateMode]string{UpdateFalse: "false", UpdateLazy: "lazy"}[update])
	}
	return d
}

var accessNames = map[AccessKind]string{ReadDocument: "Document Read", ReadAllDocs: "All-Docs Read",
	ReadLocalDocs: "Local-Docs Read",
	ReadConflicts: "Conflicts Read", ReadChanges: "Changes Read", ReadView: "View Read", ReadReduce: "Reduce Read",
	ReadCount: "Count"}

func (a *Access) options() (desc bool, limit, skip int64, doc bool) {
	switch a.Kind {
	case ReadDocument:
		return false, 0, 0, a.Docs.WithDoc
	case ReadReduce, ReadCount:
		return false, 0, 0, false
	case ReadChanges:
		return a.Changes.Descending, a.Changes.Limit, 0, a.Changes.WithDoc
	case ReadView:
		return a.View.Descending, a.View.Limit, a.View.Skip, a.View.WithDoc
	}
	return a.Docs.Descending, a.Docs.Limit, a.Docs.Skip, a.Docs.WithDoc
}

// maxShown is the number of ranges that EXPLAIN shows.
const maxShown = 8

// severalBounds describes several ranges of keys.
func severalBounds(ranges []KeyRange) string {
	var all []string
	for i, r := range ranges {
		if i == maxShown && len(ranges) > maxShown+1 {
			return strings.Join(all, " or ") + fmt.Sprintf(" or %d more", len(ranges)-i)
		}
		one := Access{View: ViewRead{Low: r.Low, High: r.High}}
		all = append(all, one.keyBounds())
	}
	return strings.Join(all, " or ")
}

// bounds describes the range in words.
func (a *Access) bounds() string {
	switch a.Kind {
	case ReadDocument:
		return fmt.Sprintf("id = '%s'", a.ID)
	case ReadChanges:
		return a.feedBounds()
	case ReadView:
		if a.View.Ranges != nil {
			return severalBounds(a.View.Ranges)
		}
		return a.keyBounds()
	case ReadReduce:
		if a.Reduce.Ranges != nil {
			return severalBounds(a.Reduce.Ranges)
		}
		inner := Access{View: ViewRead{Low: a.Reduce.Low, High: a.Reduce.High, Keys: a.Reduce.Keys}}
		return inner.keyBounds()
	}
	if a.Docs.IDs != nil {
		return fmt.Sprintf("%d ids", len(a.Docs.IDs))
	}
	var parts []string
	if a.Docs.Low != "" {
		parts = append(parts, fmt.Sprintf("id >= %s", quote(a.Docs.Low)))
	}
	if a.Docs.High != "" {
		parts = append(parts, fmt.Sprintf("id < %s", quote(a.Docs.High)))
	}
	return strings.Join(parts, " and ")
}

func (a *Access) feedBounds() string {
	var parts []string
	if a.Changes.Shard != "" {
		parts = append(parts, "shard = "+quote(a.Changes.Shard))
	}
	if a.Changes.Since != "" {
		parts = append(parts, "seq > "+quote(a.Changes.Since))
	}
	if a.Until != "" {
		op := "<="
		if a.UntilOpen {
			op = "<"
		}
		parts = append(parts, "seq "+op+" "+quote(a.Until))
	}
	if a.Changes.Follow {
		parts = append(parts, "without end")
	}
	return strings.Join(parts, " and ")
}

func (a *Access) keyBounds() string {
	v := &a.View
	if v.Keys != nil {
		return fmt.Sprintf("%d keys", len(v.Keys))
	}
	if v.Low != nil && string(v.Low) == string(v.High) {
		return "key = " + shown(v.Low)
	}
	var parts []string
	op := func(open bool, sign string) string {
		if open {
			return sign
		}
		return sign + "="
	}
	if v.Low != nil {
		parts = append(parts, "key "+op(a.LowOpen, ">")+" "+shown(v.Low))
	}
	if v.High != nil {
		parts = append(parts, "key "+op(a.HighOpen, "<")+" "+shown(v.High))
	}
	return strings.Join(parts, " and ")
}

// shown returns a key with CouchDB's high character escaped.
func shown(key []byte) string { return strings.ReplaceAll(string(key), "\ufff0", `\ufff0`) }

// quote returns a text for EXPLAIN, with unprintable characters escaped.
func quote(s string) string { return fmt.Sprintf("%q", s) }

// Next implements Rows.
func (o *oneDocument) Next(ctx context.Context, row *Row) error {
	if o.done {
		return io.EOF
	}
	o.done = true
	*row = Row{}
	found, err := o.db.Document(ctx, o.id, o.withDoc, row)
	if err == nil && !found {
		return io.EOF
	}
	return err
}
