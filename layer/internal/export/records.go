package export

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/tuple"
)

// Header is a decoded RecordHeader.
type Header struct {
	name string
	exportOf
}

func (h *Header) append(dst []byte) []byte {
	dst = tuple.AppendInt(dst, exportFormat)
	dst = tuple.AppendString(dst, h.name)
	dst = tuple.AppendString(dst, h.uuid)
	dst = tuple.AppendInt(dst, h.incarnation)
	dst = tuple.AppendInt(dst, h.version)
	return tuple.AppendInt(dst, h.purges)
}

// Parse decodes the payload.
func (h *Header) Parse(b []byte) error {
	t := db.Taker{B: b}
	if format := db.Take(&t, tuple.TakeInt); t.Err == nil && format != exportFormat {
		return fmt.Errorf("%w: it has format %d; this version of Divan reads %d", ErrExport, format, exportFormat)
	}
	h.name = db.Take(&t, tuple.TakeString)
	h.uuid = db.Take(&t, tuple.TakeString)
	h.incarnation = db.Take(&t, tuple.TakeInt)
	h.version = db.Take(&t, tuple.TakeInt)
	h.purges = db.Take(&t, tuple.TakeInt)
	return t.End()
}

// Document is a decoded RecordDocument.
type Document struct {
	id          string
	seq, winner db.Seq
	leaves      int64
}

func (d *Document) append(dst []byte) []byte {
	dst = tuple.AppendString(dst, d.id)
	dst = d.seq.AppendTuple(dst)
	dst = tuple.AppendInt(dst, d.leaves)
	return d.winner.AppendTuple(dst)
}

// Parse decodes the payload.
func (d *Document) Parse(b []byte) error {
	t := db.Taker{B: b}
	d.id = db.Take(&t, tuple.TakeString)
	d.seq = db.Take(&t, db.TakeSeq)
	d.leaves = db.Take(&t, tuple.TakeInt)
	d.winner = db.Take(&t, db.TakeSeq)
	if t.Err == nil && (d.id == "" || d.leaves < 0) {
		return errors.New("a document without an id, or with a negative number of leaves")
	}
	return t.End()
}

// Leaf is one leaf of a recordBranches.
type Leaf struct {
	rev.LeafKV
	stored []byte
	body   rev.StoredBody
}

// takeLeaf decodes one leaf and its body's header. Slices refer to the payload.
func takeLeaf(b []byte) (l Leaf, rest []byte, err error) {
	t := db.Taker{B: b}
	l.Deleted = db.Take(&t, tuple.TakeBool)
	l.Rev = db.Take(&t, db.TakeRev)
	l.Ancestors = db.Take(&t, tuple.TakeNested)
	l.stored = db.Take(&t, tuple.TakeBytes)
	if t.Err != nil {
		return l, nil, t.Err
	}
	if _, err := l.Branch(); err != nil {
		return l, nil, err
	}
	l.body, err = rev.ParseBody(l.stored)
	return l, t.B, err
}

// exportedChunk is a decoded recordChunk.
type exportedChunk struct {
	attachment [16]byte
	number     int64
	data       []byte
}

func (c *exportedChunk) parse(b []byte) error {
	t := db.Taker{B: b}
	c.attachment = db.Take(&t, tuple.TakeUUID)
	c.number = db.Take(&t, tuple.TakeInt)
	c.data = t.B
	return t.Err
}

// Local is a decoded RecordLocal.
type Local struct {
	id   string
	n    int64
	body []byte
}

// Parse decodes the payload.
func (l *Local) Parse(b []byte) error {
	t := db.Taker{B: b}
	l.id = db.Take(&t, tuple.TakeString)
	l.n = db.Take(&t, tuple.TakeInt)
	l.body = t.B
	if t.Err == nil && !db.IsLocal(l.id) {
		return errors.New("a _local document with an invalid id")
	}
	return t.Err
}

// ParsePurge checks a RecordPurge, whose payload is stored as it is.
func ParsePurge(b []byte) error {
	t := db.Taker{B: b}
	db.Take(&t, tuple.TakeString)
	db.Take(&t, tuple.TakeNested)
	return t.End()
}

// Config is a decoded RecordConfig: the settings at the end of the export.
type Config struct {
	last        db.Seq
	revsLimit   int
	purgesLimit int
	partitioned bool
	security    []byte
	purges      int64
	maps        []db.Routing
}

func (c *Config) append(dst []byte) []byte {
	dst = c.last.AppendTuple(dst)
	dst = tuple.AppendInt(dst, int64(c.revsLimit))
	dst = tuple.AppendInt(dst, int64(c.purgesLimit))
	dst = tuple.AppendBool(dst, c.partitioned)
	dst = tuple.AppendBytes(dst, c.security)
	dst = tuple.AppendInt(dst, c.purges)
	for _, m := range c.maps {
		dst = tuple.AppendBytes(dst, m.Since.AppendTuple(nil))
		dst = tuple.AppendBytes(dst, m.AppendValue(nil))
	}
	return dst
}

// Parse decodes the payload.
func (c *Config) Parse(b []byte) error {
	t := db.Taker{B: b}
	c.last = db.Take(&t, db.TakeSeq)
	c.revsLimit = int(db.Take(&t, tuple.TakeInt))
	c.purgesLimit = int(db.Take(&t, tuple.TakeInt))
	c.partitioned = db.Take(&t, tuple.TakeBool)
	c.security = bytes.Clone(db.Take(&t, tuple.TakeBytes))
	c.purges = db.Take(&t, tuple.TakeInt)
	for t.Err == nil && len(t.B) > 0 {
		key, value := db.Take(&t, tuple.TakeBytes), db.Take(&t, tuple.TakeBytes)
		if t.Err != nil {
			break
		}
		m, err := db.ParseShardMap(key, value)
		if err != nil {
			return err
		}
		c.maps = append(c.maps, m)
	}
	if t.Err == nil && len(c.maps) == 0 {
		return errors.New("no shard map")
	}
	return t.End()
}
