package exec

import (
	"context"
	"errors"
	"io"

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
	// Name is the relation, and Alias its name in the query, for EXPLAIN.
	Name, Alias string
	DB          Database
	Accesses    []Access
	Targets     []Target
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
	runs     int64
	examined int64
	skipped  int64 // by reads that have ended
}

func (s *Scan) Open(env *Env) error {
	s.env, s.at = env, -1
	s.runs++
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

// Describe shows the read and its bounds.
func (s *Scan) Describe() *Description {
	d := &Description{On: s.Name, Alias: s.Alias, Rows: s.examined, Loops: s.runs,
		Examined: s.examined + s.skipped + skipped(s.rows)}
	if s.runs == 0 {
		d.Loops = -1
	}
	accesses := s.reads()
	if len(accesses) == 0 {
		d.Node = "Nothing"
		return d
	}
	a := &accesses[0]
	d.Reads, d.Columns = accesses, make([]types.OID, len(s.Targets))
	for i, t := range s.Targets {
		d.Columns[i] = t.Field.typ()
	}
	d.Node = accessNames[a.Kind]
	if a.Kind == ReadView && a.View.Keys != nil {
		d.Node = "View Keys Read"
	}
	d.Scan = s
	return d
}

var accessNames = map[AccessKind]string{ReadDocument: "Document Read", ReadAllDocs: "All-Docs Read",
	ReadLocalDocs: "Local-Docs Read",
	ReadConflicts: "Conflicts Read", ReadChanges: "Changes Read", ReadView: "View Read", ReadReduce: "Reduce Read",
	ReadCount: "Count"}
