package layer

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/divandb/divan/layer/tuple"
)

// An export is a sequence of records behind a magic text:
//
//	type (1 byte), length of the payload (uvarint), payload, check (8 bytes)
//
// check is the beginning of a digest that chains all records so far: digest = SHA-256(digest before, type, payload), the first one that of the magic. So a
// file that is damaged, cut, or put together from two is found out at the record where it happens, and an export can be continued in the
// middle by someone who knows the digest there and nothing else of what came before.
//
// Records are what a database means, not its keys: a file can be read by a version of Divan with another layout.
const exportMagic = "divan export 1\n"

// exportFormat is in the header; a reader refuses a higher one.
const exportFormat = 1

// recordType is the first byte of a record. Payloads are tuple elements.
type recordType byte

const (
	recordHeader   recordType = 'h' // format, database name, uuid, incarnation, read version at which the export began
	recordDocument recordType = 'd' // id, sequence: what the file said of the document before no longer holds; with it all is there up to the sequence
	recordChunk    recordType = 'a' // document id, attachment id, chunk, data
	recordBranches recordType = 'b' // id, sequence, leaves (deleted, revision, [ancestors], body); no leaves: the document is gone
	recordLocals   recordType = 'm' // nothing: what the file said of _local documents before no longer holds
	recordLocal    recordType = 'l' // id, revision number, body
	recordConfig   recordType = 'c' // sequence of the end, revs_limit, partitioned, security, purges, maps of shards
	recordEnd      recordType = 'z' // number of records before it
)

// maxRecord bounds a payload: a document whose every leaf has the largest body would be larger, so a document's branches may take several
// records (see exporter.document); one body and its history fit.
const maxRecord = 64 << 20

// ErrExport says that a file is no export, or a damaged or incomplete one.
var ErrExport = errors.New("layer: not a complete export")

// ExportPosition is a point in an export from where it can be continued.
type ExportPosition struct {
	Digest  [sha256.Size]byte
	Records int64
	Seq     Seq   // everything up to it is in the file
	Version int64 // read version at which the export began
	Offset  int64 // in the file
}

// String is the position as a text that ParseExportPosition reads. The offset is the client's own business.
func (p ExportPosition) String() string {
	return fmt.Sprintf("%x.%d.%s.%d", p.Digest, p.Records, p.Seq, p.Version)
}

// ParseExportPosition reads String's form. Invalid otherwise.
func ParseExportPosition(s string) (p ExportPosition, err error) {
	malformed := errf(Invalid, "bad_request", "malformed position of an export")
	parts := strings.Split(s, ".")
	if len(parts) != 4 {
		return p, malformed
	}
	digest, err := hex.DecodeString(parts[0])
	if err != nil || copy(p.Digest[:], digest) != len(p.Digest) || len(digest) != len(p.Digest) {
		return p, malformed
	}
	if p.Records, err = strconv.ParseInt(parts[1], 10, 64); err != nil || p.Records < 1 {
		return p, malformed
	}
	if p.Seq, err = ParseSeq(parts[2]); err != nil {
		return p, malformed
	}
	if p.Version, err = strconv.ParseInt(parts[3], 10, 64); err != nil || p.Version < 0 {
		return p, malformed
	}
	return p, nil
}

// recordWriter writes records.
type recordWriter struct {
	w       io.Writer
	digest  [sha256.Size]byte
	records int64
	buf     []byte
}

// begin writes the magic, or goes on at a position.
func (w *recordWriter) begin(p *ExportPosition) error {
	if p != nil {
		w.digest, w.records = p.Digest, p.Records
		return nil
	}
	w.digest = sha256.Sum256([]byte(exportMagic))
	_, err := io.WriteString(w.w, exportMagic)
	return err
}

func (w *recordWriter) write(t recordType, payload []byte) error {
	w.digest = chain(w.digest, t, payload)
	w.records++
	w.buf = append(w.buf[:0], byte(t))
	w.buf = binary.AppendUvarint(w.buf, uint64(len(payload)))
	w.buf = append(w.buf, payload...)
	w.buf = append(w.buf, w.digest[:8]...)
	_, err := w.w.Write(w.buf)
	return err
}

func chain(before [sha256.Size]byte, t recordType, payload []byte) (digest [sha256.Size]byte) {
	h := sha256.New()
	h.Write(before[:])
	h.Write([]byte{byte(t)})
	h.Write(payload)
	h.Sum(digest[:0])
	return digest
}

// recordReader reads records. payload is valid until the next one.
type recordReader struct {
	r       *bufio.Reader
	digest  [sha256.Size]byte
	records int64
	offset  int64
	payload []byte
}

func newRecordReader(r io.Reader) (*recordReader, error) {
	rr := &recordReader{r: bufio.NewReaderSize(r, 1<<16), digest: sha256.Sum256([]byte(exportMagic)), offset: int64(len(exportMagic))}
	magic := make([]byte, len(exportMagic))
	if _, err := io.ReadFull(rr.r, magic); err != nil || string(magic) != exportMagic {
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return nil, err
		}
		return nil, fmt.Errorf("%w: it does not begin as one", ErrExport)
	}
	return rr, nil
}

// next reads a record. io.EOF where the file ends between records; ErrExport where it is cut or damaged.
func (r *recordReader) next() (recordType, error) {
	t, err := r.r.ReadByte()
	if err != nil {
		return 0, err
	}
	n, err := binary.ReadUvarint(r.r)
	if err != nil || n > maxRecord {
		return 0, r.damaged(err)
	}
	if uint64(cap(r.payload)) < n {
		r.payload = make([]byte, n)
	}
	r.payload = r.payload[:n]
	if _, err := io.ReadFull(r.r, r.payload); err != nil {
		return 0, r.damaged(err)
	}
	var check [8]byte
	if _, err := io.ReadFull(r.r, check[:]); err != nil {
		return 0, r.damaged(err)
	}
	digest := chain(r.digest, recordType(t), r.payload)
	if !bytes.Equal(check[:], digest[:8]) {
		return 0, r.damaged(nil)
	}
	r.digest = digest
	r.records++
	r.offset += int64(1 + uvarintLen(n) + int(n) + len(check))
	return recordType(t), nil
}

func (r *recordReader) damaged(err error) error {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: it ends in the middle of a record, after byte %d", ErrExport, r.offset)
	case err != nil:
		return err
	}
	return fmt.Errorf("%w: it is damaged after byte %d", ErrExport, r.offset)
}

func uvarintLen(n uint64) int { return len(binary.AppendUvarint(nil, n)) }

// exportHeader is what recordHeader says.
type exportHeader struct {
	name, uuid  string
	incarnation int64
	version     int64
}

func (h *exportHeader) append(dst []byte) []byte {
	dst = tuple.AppendInt(dst, exportFormat)
	dst = tuple.AppendString(dst, h.name)
	dst = tuple.AppendString(dst, h.uuid)
	dst = tuple.AppendInt(dst, h.incarnation)
	return tuple.AppendInt(dst, h.version)
}

func (h *exportHeader) parse(b []byte) error {
	format, b, err := tuple.TakeInt(b)
	if err == nil && format != exportFormat {
		return fmt.Errorf("%w: it has format %d; this version of Divan reads %d", ErrExport, format, exportFormat)
	}
	if err == nil {
		h.name, b, err = tuple.TakeString(b)
	}
	if err == nil {
		h.uuid, b, err = tuple.TakeString(b)
	}
	if err == nil {
		h.incarnation, b, err = tuple.TakeInt(b)
	}
	if err == nil {
		h.version, _, err = tuple.TakeInt(b)
	}
	return err
}

// exportConfig is what recordConfig says: the database as of the end of the export.
type exportConfig struct {
	last        Seq
	revsLimit   int
	partitioned bool
	security    []byte
	purges      int64
	maps        []shardMap
}

func (c *exportConfig) append(dst []byte) []byte {
	dst = c.last.appendTuple(dst)
	dst = tuple.AppendInt(dst, int64(c.revsLimit))
	dst = tuple.AppendBool(dst, c.partitioned)
	dst = tuple.AppendBytes(dst, c.security)
	dst = tuple.AppendInt(dst, c.purges)
	for _, m := range c.maps {
		dst = tuple.AppendBytes(dst, m.Since.appendTuple(nil))
		dst = tuple.AppendBytes(dst, m.appendValue(nil))
	}
	return dst
}

func (c *exportConfig) parse(b []byte) (err error) {
	var n int64
	if c.last, b, err = takeSeq(b); err == nil {
		n, b, err = tuple.TakeInt(b)
		c.revsLimit = int(n)
	}
	if err == nil {
		c.partitioned, b, err = tuple.TakeBool(b)
	}
	if err == nil {
		var security []byte
		security, b, err = tuple.TakeBytes(b)
		c.security = bytes.Clone(security)
	}
	if err == nil {
		c.purges, b, err = tuple.TakeInt(b)
	}
	for err == nil && len(b) > 0 {
		var key, value []byte
		if key, b, err = tuple.TakeBytes(b); err != nil {
			break
		}
		if value, b, err = tuple.TakeBytes(b); err != nil {
			break
		}
		var m shardMap
		if m, err = parseShardMap(key, value); err == nil {
			c.maps = append(c.maps, m)
		}
	}
	if err == nil && len(c.maps) == 0 {
		err = errors.New("no map of shards")
	}
	return err
}
