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

// Left is what an export of a damaged database left out.
type Left struct {
	// "database", "document", "revision", "history", "attachment", "local document", "purges", "settings"
	Kind     string
	ID, Last string // the document's id; a range of ids where Last is not empty
	What     string
}

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

// Salvage is Export for a damaged database: it writes all that can be read, and notes in the file what it left out. It
// goes through the documents in the order of their ids, and cannot be continued. What is readable of a document is
// kept: leaves without those whose body is lost, a body without the attachments that are lost, the newest body where
// the revisions are lost.
//
// A database whose name is lost goes by "#" and its number. NotFound; NotImplemented where the engine does not look
// after its own files.
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
	"the files of this store are not this node's: ask the node that has the store (FoundationDB looks after its own)")

// salvage is one run of Salvage.
type salvage struct {
	x     *exporter
	holes db.Holes
	// without are damaged ranges that reads pass over: rows that were there are missing, or older ones come up in their
	// place.
	without db.Holes
	// lacks are files that the store is read without, and nobody knows what of this database was in them.
	lacks []kv.Fault
	newest,
	made db.Seq // the last of all sequences, and the last of those made up

	pending struct { // document whose branches are being collected
		id     string
		leaves []rev.LeafKV
	}
	handled map[string]bool // documents that a gap has dealt with, and rows of which may come
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

// left notes what was left out.
func (v *salvage) left(l Left) error {
	p := tuple.AppendString(v.x.payload[:0], l.Kind)
	p = tuple.AppendString(tuple.AppendString(p, l.ID), l.Last)
	v.x.payload = tuple.AppendString(p, l.What)
	return v.x.w.write(recordLeft, v.x.payload)
}

// settings reads the configuration. What is lost of it is as in a new database; nothing is said before the file has
// begun.
func (v *salvage) settings() error {
	x := v.x
	cfg, err := x.s.Core.Load(x.s.R)
	switch {
	case err == nil && cfg != nil:
		x.s.Cfg = cfg
		return nil
	case err == nil && !v.passesOver():
		return db.ErrNoDatabase()
	case err == nil || fault.KindOf(err) == fault.Internal && v.passesOver(): // rows of it are passed over
	case !isUnreadable(err):
		return err
	}
	cfg = &db.Config{RevsLimit: db.DefaultRevsLimit, PurgesLimit: db.DefaultPurgesLimit, Security: []byte(adminsOnly)}
	prefix := x.s.Keys.Sub(nil, keyspace.Config)
	err = v.holes.Scan(x.s.R, db.PrefixRange(prefix), func(row kv.KeyValue) error {
		_ = cfg.Set(row.Key[len(prefix):], row.Value) // what cannot be read is as in a new database
		return nil
	}, func(kv.KeyRange) error { return nil })
	if len(cfg.Maps) == 0 {
		cfg.Maps = []db.Routing{{ShardMap: db.ShardMap{Scheme: db.SchemeJump, Shards: cfg.NextShards(1)}}}
	}
	cfg.Stamp = nil // says that the settings are not whole
	x.s.Cfg = cfg
	return err
}

// passesOver reports whether rows that were there may be missing where all can be read.
func (v *salvage) passesOver() bool { return len(v.without) > 0 || len(v.lacks) > 0 }

// adminsOnly is the _security of a database whose own is lost.
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
		what := f.String() + "; documents may be missing, or older than they were"
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
		return v.left(Left{Kind: "settings", What: "some or all of them are damaged; those are as in a new database, " +
			"for admins only"})
	}
	return nil
}

// passedOver tells of a damaged range that reads pass over. Of bodies and attachments it is found out one by one what
// is missing.
func (v *salvage) passedOver(keys kv.KeyRange) error {
	for sub, l := range map[keyspace.Subspace]Left{
		keyspace.Revisions: {Kind: "document",
			What: "rows of some of them are lost; they may be missing, or older than they were"},
		keyspace.Local: {Kind: "local document",
			What: "rows of some of them are lost; they may be missing, or older than they were"},
		keyspace.Purges: {Kind: "purges", What: "a part of the history is damaged"},
		keyspace.Config: {Kind: "settings", What: "some of them may be as in a new database, or older than they were"},
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
			return v.left(Left{Kind: "local document", What: "a key makes no sense"})
		}
		chunk, _, err := tuple.TakeInt(rest)
		if of != id {
			if err := flush(); err != nil {
				return err
			}
			id, next, whole = of, 0, []byte{}
		}
		if whole == nil {
			return nil // told of
		}
		if err != nil || chunk != next {
			whole = nil
			return v.left(Left{Kind: "local document", ID: id, What: "a part of it is damaged"})
		}
		next++
		whole = append(whole, row.Value...)
		return nil
	}, func(gap kv.KeyRange) error {
		// Chunks are full but for the last, and a document that fills its last chunk has no more: the one in front of
		// the gap is whole if it ends so.
		if len(whole) > 0 && len(whole)%keyspace.BodyChunk == 0 {
			whole = nil
			if err := v.left(Left{Kind: "local document", ID: id, What: "a part of it is damaged"}); err != nil {
				return err
			}
		}
		first, last := idsOf(gap, prefix)
		return v.left(Left{Kind: "local document", ID: first, Last: last, What: "those in a damaged block"})
	})
	if err != nil {
		return err
	}
	return flush()
}

// idsOf is the ids that a range of keys begins and ends in, as far as they can be told.
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
			return v.left(Left{Kind: "purges", What: "an entry makes no sense"})
		}
		return x.w.write(RecordPurge, row.Value)
	}, func(kv.KeyRange) error {
		return v.left(Left{Kind: "purges", What: "a part of the history is damaged"})
	})
}

// end writes the settings.
func (v *salvage) end() error {
	x := v.x
	last, err := db.ReadLastSeq(x.s.R, x.s.Keys, x.s.Cfg)()
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

// nextSeq makes up a sequence after all others, for a document that has lost its own.
func (v *salvage) nextSeq() db.Seq {
	if v.made.IsZero() {
		v.made = db.Seq{Incarnation: v.x.s.Cfg.Incarnation, Stamp: [12]byte{math.MaxInt8}} // no engine gets there
	}
	for i := len(v.made.Stamp) - 1; i > 0; i-- {
		if v.made.Stamp[i]++; v.made.Stamp[i] != 0 {
			break
		}
	}
	return v.made
}

// IsDamaged reports whether err says that what was asked for is damaged on disk, so that asking again does not help.
func IsDamaged(err error) bool {
	var e *fault.Error
	return isUnreadable(err) || errors.As(err, &e) && e.Name == "store_damaged"
}

// isUnreadable reports whether err says that what was asked for is damaged.
func isUnreadable(err error) bool {
	var c *db.CorruptError
	return kv.IsCode(err, kv.CodeFileCorrupt) || errors.As(err, &c)
}
