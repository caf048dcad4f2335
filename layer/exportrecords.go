package layer

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/divandb/divan/layer/tuple"
)

// exportHeader is what recordHeader says.
type exportHeader struct {
	name string
	exportOf
}

func (h *exportHeader) append(dst []byte) []byte {
	dst = tuple.AppendInt(dst, exportFormat)
	dst = tuple.AppendString(dst, h.name)
	dst = tuple.AppendString(dst, h.uuid)
	dst = tuple.AppendInt(dst, h.incarnation)
	dst = tuple.AppendInt(dst, h.version)
	return tuple.AppendInt(dst, h.purges)
}

func (h *exportHeader) parse(b []byte) error {
	t := taker{b: b}
	if format := take(&t, tuple.TakeInt); t.err == nil && format != exportFormat {
		return fmt.Errorf("%w: it has format %d; this version of Divan reads %d", ErrExport, format, exportFormat)
	}
	h.name = take(&t, tuple.TakeString)
	h.uuid = take(&t, tuple.TakeString)
	h.incarnation = take(&t, tuple.TakeInt)
	h.version = take(&t, tuple.TakeInt)
	h.purges = take(&t, tuple.TakeInt)
	return t.end()
}

// exportedDocument is what recordDocument says.
type exportedDocument struct {
	id          string
	seq, winner Seq
	leaves      int64
}

func (d *exportedDocument) append(dst []byte) []byte {
	dst = tuple.AppendString(dst, d.id)
	dst = d.seq.appendTuple(dst)
	dst = tuple.AppendInt(dst, d.leaves)
	return d.winner.appendTuple(dst)
}

func (d *exportedDocument) parse(b []byte) error {
	t := taker{b: b}
	d.id = take(&t, tuple.TakeString)
	d.seq = take(&t, takeSeq)
	d.leaves = take(&t, tuple.TakeInt)
	d.winner = take(&t, takeSeq)
	if t.err == nil && (d.id == "" || d.leaves < 0) {
		return errors.New("a document without an id, or with less than no leaves")
	}
	return t.end()
}

// exportedLeaf is one of recordBranches.
type exportedLeaf struct {
	leafKV
	stored []byte
	body   storedBody
}

// takeLeaf reads one leaf and its body's header. Bytes are the payload's.
func takeLeaf(b []byte) (l exportedLeaf, rest []byte, err error) {
	t := taker{b: b}
	l.deleted = take(&t, tuple.TakeBool)
	l.rev = take(&t, takeRev)
	l.ancestors = take(&t, tuple.TakeNested)
	l.stored = take(&t, tuple.TakeBytes)
	if t.err != nil {
		return l, nil, t.err
	}
	if _, err := l.branch(); err != nil {
		return l, nil, err
	}
	l.body, err = parseBody(l.stored)
	return l, t.b, err
}

// exportedChunk is what recordChunk says.
type exportedChunk struct {
	attachment [16]byte
	number     int64
	data       []byte
}

func (c *exportedChunk) parse(b []byte) error {
	t := taker{b: b}
	c.attachment = take(&t, tuple.TakeUUID)
	c.number = take(&t, tuple.TakeInt)
	c.data = t.b
	return t.err
}

// exportedLocal is what recordLocal says.
type exportedLocal struct {
	id   string
	n    int64
	body []byte
}

func (l *exportedLocal) parse(b []byte) error {
	t := taker{b: b}
	l.id = take(&t, tuple.TakeString)
	l.n = take(&t, tuple.TakeInt)
	l.body = t.b
	if t.err == nil && !isLocal(l.id) {
		return errors.New("a _local document of another name")
	}
	return t.err
}

// parsePurge checks what recordPurge says: it is stored as it is.
func parsePurge(b []byte) error {
	t := taker{b: b}
	take(&t, tuple.TakeString)
	take(&t, tuple.TakeNested)
	return t.end()
}

// exportConfig is what recordConfig says: the database as of the end of the export.
type exportConfig struct {
	last        Seq
	revsLimit   int
	purgesLimit int
	partitioned bool
	security    []byte
	purges      int64
	maps        []shardMap
}

func (c *exportConfig) append(dst []byte) []byte {
	dst = c.last.appendTuple(dst)
	dst = tuple.AppendInt(dst, int64(c.revsLimit))
	dst = tuple.AppendInt(dst, int64(c.purgesLimit))
	dst = tuple.AppendBool(dst, c.partitioned)
	dst = tuple.AppendBytes(dst, c.security)
	dst = tuple.AppendInt(dst, c.purges)
	for _, m := range c.maps {
		dst = tuple.AppendBytes(dst, m.Since.appendTuple(nil))
		dst = tuple.AppendBytes(dst, m.appendValue(nil))
	}
	return dst
}

func (c *exportConfig) parse(b []byte) error {
	t := taker{b: b}
	c.last = take(&t, takeSeq)
	c.revsLimit = int(take(&t, tuple.TakeInt))
	c.purgesLimit = int(take(&t, tuple.TakeInt))
	c.partitioned = take(&t, tuple.TakeBool)
	c.security = bytes.Clone(take(&t, tuple.TakeBytes))
	c.purges = take(&t, tuple.TakeInt)
	for t.err == nil && len(t.b) > 0 {
		key, value := take(&t, tuple.TakeBytes), take(&t, tuple.TakeBytes)
		if t.err != nil {
			break
		}
		m, err := parseShardMap(key, value)
		if err != nil {
			return err
		}
		c.maps = append(c.maps, m)
	}
	if t.err == nil && len(c.maps) == 0 {
		return errors.New("no map of shards")
	}
	return t.end()
}
