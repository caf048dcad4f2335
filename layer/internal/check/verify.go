package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// VerifyOptions are the options of Verify.
type VerifyOptions struct {
	// Database, if not empty, restricts Verify to one database; it returns NotFound if there is none. Files shared with
	// other databases are still read.
	Database string
	// Digests compares the data of attachments with their digests.
	Digests bool
	// Progress, unless nil, is called regularly with how much has been read.
	Progress func(VerifyProgress) error
	// Damage is called with each fault. If Progress or Damage returns an error, Verify stops and returns it.
	Damage func(*Damage) error

	Remember int64 // number of superseded bodies in memory at a time; 0 means maxQueued
	Rows     int   // rows compared in a transaction without snapshots; 0 means checkRows
}

// VerifyProgress is the progress of Verify, which reads first the files and then the rows.
type VerifyProgress struct {
	Bytes int64 `json:"bytes"`
	Total int64 `json:"total,omitempty"` // size of the files, 0 while rows are read
	Rows  int64 `json:"rows,omitempty"`
	// Step is what is compared after all rows have been read: "documents", "feeds", "lists", "queues", "bodies",
	// "attachments", "counters" or "indexes" of one database. Rows and Bytes then count what was compared.
	Step string `json:"step,omitempty"`
}

// Verified is how much Verify has read, and how many faults it has reported.
type Verified struct {
	// Files reports whether the files of the store were read. This is not possible on a node that uses another node's
	// store, nor on FoundationDB, which checks its own files.
	Files     bool  `json:"files"`
	Blocks    int   `json:"blocks"`
	Bytes     int64 `json:"bytes"`
	Databases int   `json:"databases"`
	Rows      int64 `json:"rows"`
	Faults    int   `json:"faults"`
}

// Verify reads every block of the store's files, if the engine can, and every row, and reports damage for each
// database. In databases without damage, it compares the rows with each other, and the indexes with the documents
// (check.go). If some databases cannot be compared, it continues with the others and returns an error named
// not_compared at the end. The store stays in use meanwhile.
func (s Store) Verify(ctx context.Context, o VerifyOptions) (done Verified, err error) {
	v := &verifier{s: s.Store, ctx: ctx, o: o}
	if err := v.open(); err != nil {
		return done, err
	}
	defer func() { v.end() }()
	for _, step := range []func() error{v.find, v.files, v.findAll, v.describeFaults, v.rows, v.compare} {
		if err := step(); errors.Is(err, ErrEnough) {
			break
		} else if err != nil {
			return v.done, err
		}
	}
	return v.done, nil
}

// verifier is one run of Verify.
type verifier struct {
	s         *db.Store
	ctx       context.Context
	o         VerifyOptions
	r         kv.Reader
	end       func() // closes r
	done      Verified
	databases []*db.Core
	only      *db.Core // the requested database
	holes     db.Holes
	faults    []kv.Fault
	bytes     int64 // size of the rows read
	told      int64
	step      string          // what is being compared
	rest      VerifyProgress  // total of what was compared
	stopped   error           // error of Progress or Damage
	hurt      map[string]bool // databases with reported faults; "" stands for the store
}

// open opens a snapshot to read from, or else the first of many transactions.
func (v *verifier) open() error {
	snap, ok, err := kv.OpenSnapshot(v.ctx, v.s.Engine)
	if err != nil {
		return err
	}
	if ok {
		v.r, v.end = snap, snap.Close
		return nil
	}
	tx := v.s.Engine.Begin(v.ctx)
	v.r, v.end = tx.Snapshot(), tx.Cancel
	return nil
}

// find finds the requested database. If its entry is unreadable, it reports that and returns ErrEnough.
func (v *verifier) find() error {
	if v.o.Database == "" {
		return nil
	}
	var patience kv.Patience
	for {
		c, err := v.s.Lookup(v.r, v.o.Database)
		if err == nil {
			v.only, v.databases = c, []*db.Core{c}
			return nil
		}
		var lost *db.CorruptError
		if errors.As(err, &lost) {
			return cmp.Or(v.damage(entryDamage(v.o.Database)), error(ErrEnough))
		}
		if err := v.again(&patience, err); err != nil {
			return err
		}
	}
}

// again begins the next transaction after an error that a new transaction may cure, and returns other errors.
func (v *verifier) again(patience *kv.Patience, err error) error {
	if err = patience.Tried(err); !kv.Retryable(err) {
		return err
	}
	select {
	case <-v.ctx.Done():
		return v.ctx.Err()
	case <-time.After(time.Millisecond):
	}
	v.end()
	tx := v.s.Engine.Begin(v.ctx)
	v.r, v.end = tx.Snapshot(), tx.Cancel
	return nil
}

// findAll lists all databases, unless one was requested.
func (v *verifier) findAll() error {
	if v.only == nil {
		var err error
		if v.databases, err = Cores(v.s, v.scan, v.damage); err != nil {
			return err
		}
	}
	v.done.Databases = len(v.databases)
	return nil
}

// rowScan is Holes.Scan with some reader.
type rowScan func(keys kv.KeyRange, visit func(kv.KeyValue) error, lost func(kv.KeyRange) error) error

// Cores lists the databases with readable names. It does not report names in holes.
func Cores(s *db.Store, scan rowScan, damage func(*Damage) error) (all []*db.Core, err error) {
	prefix := s.Section(keyspace.Databases)
	err = scan(db.PrefixRange(prefix), func(row kv.KeyValue) error {
		name, _, err := tuple.TakeString(row.Key[len(prefix):])
		if err != nil {
			return damage(&Damage{What: "a name that cannot be decoded", Part: partNames, Help: helpStore})
		}
		number, rest, err := tuple.TakeInt(row.Value)
		var created tuple.Versionstamp
		if err == nil {
			created, _, err = tuple.TakeVersionstamp(rest)
		}
		if err != nil {
			return damage(entryDamage(name))
		}
		all = append(all, db.NewCore(s.Root, name, number, created.Transaction))
		return nil
	}, func(kv.KeyRange) error { return nil })
	return all, err
}

func entryDamage(name string) *Damage {
	return &Damage{What: "the entry of a database", Part: partNames, Database: name, Help: helpStore}
}

// files makes the engine read its files.
func (v *verifier) files() error {
	var keys kv.KeyRange
	if v.only != nil {
		keys = db.PrefixRange(v.only.Keys.Prefix)
	}
	var told error
	var read kv.Verified
	var err error
	v.holes, read, v.done.Files, err = v.s.FindHoles(v.ctx, keys, func(read, total int64) {
		if told == nil && v.o.Progress != nil {
			told = v.o.Progress(VerifyProgress{Bytes: read, Total: total})
		}
	}, func(f kv.Fault) error {
		v.faults = append(v.faults, f)
		return told
	})
	v.done.Blocks, v.done.Bytes = read.Blocks, read.Bytes
	if err == nil {
		err = told
	}
	return err
}

// describeFaults reports the damage found in files, now that all holes and all databases are known.
func (v *verifier) describeFaults() error {
	for _, f := range v.faults {
		if f.Harmless {
			if err := v.damage(&Damage{File: f.File, What: f.What, Help: "nothing is lost; the disk may be " +
				"failing"}); err != nil {
				return err
			}
			continue
		}
		if err := v.describe(f.Keys, f.File, f.What, v.damage); err != nil {
			return err
		}
	}
	return nil
}

// rows reads all rows, and decodes those with structured values.
func (v *verifier) rows() error {
	keys := kv.KeyRange{Begin: v.s.Root, End: []byte{0xff}}
	if len(v.s.Root) > 0 {
		keys = db.PrefixRange(v.s.Root)
	}
	if v.only != nil {
		keys = db.PrefixRange(v.only.Keys.Prefix)
	}
	lost := func(gap kv.KeyRange) error {
		if hole, ok := v.holes.After(gap.Begin); ok && db.Overlap(hole, gap) {
			return nil // reported with its file
		}
		return v.describe(gap, "", "rows that cannot be read", v.damage)
	}
	return v.scan(keys, v.row, lost)
}

// scan reads a range like Holes.Scan. Without snapshots it uses several transactions, each continuing after the last
// row.
func (v *verifier) scan(keys kv.KeyRange, visit func(kv.KeyValue) error, lost func(kv.KeyRange) error) error {
	var patience kv.Patience
	for {
		err := v.holes.Scan(v.r, keys, func(row kv.KeyValue) error {
			patience.Progress()
			keys.Begin = append(append(keys.Begin[:0:0], row.Key...), 0)
			return visit(row)
		}, lost)
		if err == nil {
			return nil
		}
		if err := v.again(&patience, err); err != nil {
			return err
		}
	}
}

func (v *verifier) row(row kv.KeyValue) error {
	v.done.Rows++
	v.bytes += int64(len(row.Key) + len(row.Value))
	if v.o.Progress != nil && v.bytes-v.told >= verifyEvery {
		v.told = v.bytes
		if err := v.o.Progress(VerifyProgress{Bytes: v.bytes, Rows: v.done.Rows}); err != nil {
			return err
		}
	}
	err := v.decode(row)
	if err == nil {
		return nil
	}
	key := append(row.Key[:len(row.Key):len(row.Key)], 0)
	return v.describe(kv.KeyRange{Begin: row.Key, End: key}, "", "a row that cannot be decoded: "+err.Error(), v.damage)
}

// verifyEvery is the number of bytes after which Verify reports its progress.
const verifyEvery = 16 << 20

// compared counts a row that is compared with others.
func (v *verifier) compared(row kv.KeyValue) error {
	v.rest.Rows++
	v.rest.Bytes += int64(len(row.Key) + len(row.Value))
	if v.o.Progress == nil || v.rest.Rows%comparedEvery != 0 && v.rest.Step == v.step {
		return nil
	}
	v.rest.Step = v.step
	v.stopped = v.o.Progress(v.rest)
	return v.stopped
}

// comparedEvery is the number of compared rows after which Verify reports its progress.
const comparedEvery = 50_000

// decode checks whether a row by itself can be decoded.
func (v *verifier) decode(row kv.KeyValue) error {
	data := v.s.Section(keyspace.Data)
	if len(row.Key) <= len(data) || string(row.Key[:len(data)]) != string(data) {
		return nil
	}
	_, rest, err := tuple.TakeInt(row.Key[len(data):])
	if err != nil {
		return fmt.Errorf("the key: %w", err)
	}
	sub, rest, err := tuple.TakeInt(rest)
	if err != nil {
		return fmt.Errorf("the key: %w", err)
	}
	switch keyspace.Subspace(sub) {
	case keyspace.Revisions:
		if _, rest, err = tuple.TakeString(rest); err != nil {
			return err
		}
		var l rev.LeafKV
		if err := rev.ParseLeafKey(&l, rest); err != nil {
			return err
		}
		return rev.ParseLeafValue(&l, row.Value, true)
	case keyspace.Documents:
		if _, rest, err = tuple.TakeString(rest); err != nil {
			return err
		}
		if _, rest, err = db.TakeRev(rest); err != nil {
			return err
		}
		chunk, _, err := tuple.TakeInt(rest)
		// The header may continue in the next chunk.
		if err != nil || chunk > 0 || len(row.Value) >= keyspace.BodyChunk {
			return err
		}
		_, _, err = rev.ParseHeader(row.Value)
		return err
	case keyspace.AllDocs:
		_, err := db.ParseRevPair(row.Value)
		return err
	}
	return nil
}

// damage reports one fault.
func (v *verifier) damage(d *Damage) error {
	v.done.Faults++
	if v.hurt == nil {
		v.hurt = map[string]bool{}
	}
	// Otherwise nothing is lost.
	if d.Database != "" || d.Part != "" {
		v.hurt[d.Database] = true
	}
	v.stopped = v.o.Damage(d)
	return v.stopped
}
