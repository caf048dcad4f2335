package export

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/divandb/divan/layer/internal/check"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/internal/write"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// Left describes something that the export of a damaged database left out.
type Left struct {
	// Kind is "database", "document", "revision", "history", "attachment", "local document", "purges" or "settings".
	Kind     string
	ID, Last string // the document's id, or a range of ids if Last is not empty
	What     string
}

// String describes what was left out, in one line.
func (l *Left) String() string {
	of := l.Kind
	switch {
	case l.Last != "":
		of = fmt.Sprintf("%ss from %q to %q", l.Kind, l.ID, l.Last)
	case l.ID != "":
		of = fmt.Sprintf("%s %q", l.Kind, l.ID)
	}
	return of + ": " + l.What
}

// Salvage is Export for a damaged database: it writes everything readable, and lists in the file what it left out. It
// reads documents in the order of their ids, and cannot be continued. It keeps what is readable of each document:
// leaves that have a body, bodies without the attachments that are lost, or the newest body if the revisions are lost.
//
// A database whose name is lost is called "#" and its number. Salvage returns NotFound if there is no such database,
// and NotImplemented if the engine of this node does not have the files of the store.
func (s Store) Salvage(ctx context.Context, name string, w io.Writer) error {
	snap, ok, err := kv.OpenSnapshot(ctx, s.Engine)
	if err != nil {
		return err
	}
	if !ok {
		return errSalvageElsewhere
	}
	defer snap.Close()
	c, err := findDamaged(ctx, s.Store, snap, name)
	if err != nil {
		return err
	}
	var without db.Holes
	var lacks []kv.Fault
	h, _, known, err := s.FindHoles(ctx, db.PrefixRange(c.Keys.Prefix), nil, func(f kv.Fault) error {
		switch {
		case f.LeftOut && len(f.Keys.End) > 0:
			without = append(without, f.Keys)
		case f.LeftOut:
			lacks = append(lacks, f)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if !known {
		return errSalvageElsewhere
	}
	d := s.Handle(c)
	d.Pinned.Store(true)
	reads := &rev.Stream{Ctx: ctx, D: d, Core: c, Keys: c.Keys, R: snap, Snap: snap}
	v := &salvage{holes: h, without: without.United(), lacks: lacks, x: &exporter{s: reads, w: recordWriter{w: w}}}
	return v.run()
}

var errSalvageElsewhere = fault.Errf(fault.NotImplemented, "",
	"this node does not have the files of the store: ask the node that has (FoundationDB checks its own)")

// salvage is one run of Salvage.
type salvage struct {
	x     *exporter
	holes db.Holes
	// without are damaged ranges that reads skip: rows may be missing, or older versions of them may appear.
	without db.Holes
	// lacks are files that the engine left out. What they contained of this database is unknown.
	lacks  []kv.Fault
	newest db.Seq // the last of all sequences
	made   db.Seq // the last invented sequence

	pending struct { // the document whose branches are being collected
		id     string
		leaves []rev.LeafKV
	}
	handled map[string]bool // documents handled in a gap, of which more rows may come
}

func (v *salvage) run() error {
	if err := v.settings(); err != nil {
		return err
	}
	if err := v.begin(); err != nil {
		return err
	}
	for _, step := range []func() error{v.locals, v.documents, v.purges, v.end} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// left records what was left out.
func (v *salvage) left(l Left) error {
	p := tuple.AppendString(v.x.payload[:0], l.Kind)
	p = tuple.AppendString(tuple.AppendString(p, l.ID), l.Last)
	v.x.payload = tuple.AppendString(p, l.What)
	return v.x.w.write(recordLeft, v.x.payload)
}

// settings reads the configuration. Missing settings get the values of a new database. Nothing can be recorded yet,
// because the file has not begun.
func (v *salvage) settings() error {
	x := v.x
	cfg, err := x.s.Core.Load(x.s.R)
	switch {
	case err == nil && cfg != nil:
		x.s.Cfg = cfg
		return nil
	case err == nil && !v.passesOver():
		return db.ErrNoDatabase()
	// Some of its rows are skipped.
	case err == nil || fault.KindOf(err) == fault.Internal && v.passesOver():
	case !isUnreadable(err):
		return err
	}
	cfg = &db.Config{RevsLimit: db.DefaultRevsLimit, PurgesLimit: db.DefaultPurgesLimit, Security: []byte(adminsOnly)}
	prefix := x.s.Keys.Sub(nil, keyspace.Config)
	err = v.holes.Scan(x.s.R, db.PrefixRange(prefix), func(row kv.KeyValue) error {
		_ = cfg.Set(row.Key[len(prefix):], row.Value) // unreadable settings stay as in a new database
		return nil
	}, func(kv.KeyRange) error { return nil })
	if len(cfg.Maps) == 0 {
		cfg.Maps = []db.Routing{{ShardMap: db.ShardMap{Scheme: db.SchemeJump, Shards: cfg.NextShards(1)}}}
	}
	cfg.Stamp = nil // marks the settings as incomplete
	x.s.Cfg = cfg
	return err
}

// passesOver reports whether rows may be missing although all reads succeed.
func (v *salvage) passesOver() bool { return len(v.without) > 0 || len(v.lacks) > 0 }

// adminsOnly is the _security object of a database whose own is lost.
const adminsOnly = `{"members":{"roles":["_admin"]},"admins":{"roles":["_admin"]}}`

func (v *salvage) begin() error {
	x := v.x
	x.began = Header{name: x.s.D.Name(), exportOf: exportOf{uuid: x.s.Cfg.Uuid, incarnation: x.s.Cfg.Incarnation}}
	var err error
	if x.began.version, err = x.s.R.ReadVersion().Wait(); err != nil {
		return err
	}
	if err := x.w.begin(); err != nil {
		return err
	}
	if err := x.w.write(RecordHeader, x.began.append(nil)); err != nil {
		return err
	}
	for _, f := range v.lacks {
		what := f.String() + "; documents may be missing or outdated"
		if err := v.left(Left{Kind: "database", What: what}); err != nil {
			return err
		}
	}
	for _, keys := range v.without {
		if err := v.passedOver(keys); err != nil {
			return err
		}
	}
	if x.s.Cfg.Stamp == nil {
		return v.left(Left{Kind: "settings", What: "some or all of them are damaged and were replaced by defaults, " +
			"with access for admins only"})
	}
	return nil
}

// passedOver records a damaged range that reads skip. Missing bodies and attachments are found one by one instead.
func (v *salvage) passedOver(keys kv.KeyRange) error {
	for sub, l := range map[keyspace.Subspace]Left{
		keyspace.Revisions: {Kind: "document",
			What: "some of them may be missing or outdated"},
		keyspace.Local: {Kind: "local document",
			What: "some of them may be missing or outdated"},
		keyspace.Purges: {Kind: "purges", What: "a part of the purge history is damaged"},
		keyspace.Config: {Kind: "settings", What: "some of them may be defaults or outdated"},
	} {
		prefix := v.x.s.Keys.Sub(nil, sub)
		in, ok := db.Intersect(keys, db.PrefixRange(prefix))
		if !ok {
			continue
		}
		if check.Parts[sub].Ids {
			l.ID, l.Last = idsOf(in, prefix)
		}
		if err := v.left(l); err != nil {
			return err
		}
	}
	return nil
}

// locals writes the _local documents.
func (v *salvage) locals() error {
	x := v.x
	if err := x.w.write(recordLocals, nil); err != nil {
		return err
	}
	prefix := x.s.Keys.Sub(nil, keyspace.Local)
	id, next, whole := "", int64(0), []byte(nil)
	flush := func() error {
		if id == "" || whole == nil {
			return nil
		}
		n, body, err := write.ParseLocal(whole)
		whole = nil
		if err != nil {
			return v.left(Left{Kind: "local document", ID: id, What: "it is damaged"})
		}
		x.payload = tuple.AppendInt(tuple.AppendString(x.payload[:0], id), n)
		return x.w.write(RecordLocal, append(x.payload, body...))
	}
	err := v.holes.Scan(x.s.R, db.PrefixRange(prefix), func(row kv.KeyValue) error {
		of, rest, err := tuple.TakeString(row.Key[len(prefix):])
		if err != nil {
			return v.left(Left{Kind: "local document", What: "a key cannot be decoded"})
		}
		chunk, _, err := tuple.TakeInt(rest)
		if of != id {
			if err := flush(); err != nil {
				return err
			}
			id, next, whole = of, 0, []byte{}
		}
		if whole == nil {
			return nil // already recorded
		}
		if err != nil || chunk != next {
			whole = nil
			return v.left(Left{Kind: "local document", ID: id, What: "a part of it is damaged"})
		}
		next++
		whole = append(whole, row.Value...)
		return nil
	}, func(gap kv.KeyRange) error {
		// All chunks but the last are full, and a document that ends with a full chunk has no other one. So the
		// document before the gap is complete unless it ends with a full chunk.
		if len(whole) > 0 && len(whole)%keyspace.BodyChunk == 0 {
			whole = nil
			if err := v.left(Left{Kind: "local document", ID: id, What: "a part of it is damaged"}); err != nil {
				return err
			}
		}
		first, last := idsOf(gap, prefix)
		return v.left(Left{Kind: "local document", ID: first, Last: last, What: "they are in a damaged block"})
	})
	if err != nil {
		return err
	}
	return flush()
}

// idsOf returns the first and last ids in a range of keys, as far as they can be decoded.
func idsOf(keys kv.KeyRange, prefix []byte) (first, last string) {
	if bytes.HasPrefix(keys.Begin, prefix) {
		first, _, _ = tuple.TakeString(keys.Begin[len(prefix):])
	}
	if bytes.HasPrefix(keys.End, prefix) {
		last, _, _ = tuple.TakeString(keys.End[len(prefix):])
	}
	if last == "" {
		last = "\uffff"
	}
	return first, last
}

func (v *salvage) purges() error {
	x := v.x
	if err := x.w.write(recordPurges, nil); err != nil {
		return err
	}
	return v.holes.Scan(x.s.R, db.PrefixRange(x.s.Keys.Sub(nil, keyspace.Purges)), func(row kv.KeyValue) error {
		if ParsePurge(row.Value) != nil {
			return v.left(Left{Kind: "purges", What: "an entry cannot be decoded"})
		}
		return x.w.write(RecordPurge, row.Value)
	}, func(kv.KeyRange) error {
		return v.left(Left{Kind: "purges", What: "a part of the purge history is damaged"})
	})
}

// end writes the settings and the end record.
func (v *salvage) end() error {
	x := v.x
	last, err := x.s.LastSeq()
	if err != nil && !isUnreadable(err) {
		return err
	}
	for _, seq := range []db.Seq{v.newest, v.made} {
		if last.Compare(seq) < 0 {
			last = seq
		}
	}
	counters, err := db.CountersOf(x.s.R, x.s.Keys, db.CounterPurges)
	if isUnreadable(err) {
		counters, err = []int64{0}, nil
	}
	if err != nil {
		return err
	}
	cfg := x.s.Cfg
	c := Config{
		last: last, revsLimit: cfg.RevsLimit, purgesLimit: cfg.PurgesLimit, partitioned: cfg.Partitioned,
		security: cfg.Security, purges: counters[0], maps: cfg.Maps,
	}
	if err := x.w.write(RecordConfig, c.append(nil)); err != nil {
		return err
	}
	return x.w.write(recordEnd, tuple.AppendInt(nil, x.w.records))
}

// nextSeq invents a sequence after all others, for a document that has lost its own.
func (v *salvage) nextSeq() db.Seq {
	if v.made.IsZero() {
		v.made = db.Seq{Incarnation: v.x.s.Cfg.Incarnation, Stamp: [12]byte{math.MaxInt8}} // no engine reaches this
	}
	for i := len(v.made.Stamp) - 1; i > 0; i-- {
		if v.made.Stamp[i]++; v.made.Stamp[i] != 0 {
			break
		}
	}
	return v.made
}

// IsDamaged reports whether err is due to damage on disk, so that trying again is useless.
func IsDamaged(err error) bool {
	var e *fault.Error
	return isUnreadable(err) || errors.As(err, &e) && e.Name == "store_damaged"
}

// isUnreadable reports whether err is due to damage.
func isUnreadable(err error) bool {
	var c *db.CorruptError
	return kv.IsCode(err, kv.CodeFileCorrupt) || errors.As(err, &c)
}
