package export

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

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
)

// An export is a sequence of records behind a magic text:
//
//	type (1 byte), length of the payload (uvarint), payload, check (8 bytes)
//
// check is the beginning of a digest that chains all records so far: digest = SHA-256(digest before, type, payload),
// the first one that of the magic. So a file that is damaged, cut, or put together from two is found out at the record
// where it happens, and an export can be continued in the middle by someone who knows the digest there and nothing else
// of what came before.
//
// Records are what a database means, not its keys: a file can be read by a version of Divan with another layout.
const exportMagic = "divan export 1\n"

// exportFormat is in the header; a reader refuses another one.
const exportFormat = 1

// RecordType is the first byte of a record. Payloads are elements of the tuple encoding; what is named "rest" goes to
// the end as it is.
type RecordType byte

const (
	// RecordHeader: format (integer), database name (string), uuid (string), incarnation (integer), read version at
	// which the export began (integer), purges until then (integer). Once, first.
	RecordHeader RecordType = 'h'
	// RecordDocument: id (string), sequence of its row (incarnation, versionstamp), number of leaves (integer),
	// sequence of its winner. What the file said of the document before no longer holds; with it, everything up to the
	// row's sequence is in the file. No leaves: the document is gone. Chunks and branches follow; where fewer leaves
	// come than announced, the document comes again.
	RecordDocument RecordType = 'd'
	// recordChunk: attachment (UUID), number of the chunk (integer), rest: data as stored. Before the first leaf that
	// has the attachment.
	recordChunk RecordType = 'a'
	// recordBranches: leaves, in the order of rfc-001's keys, the winner last: deleted (boolean), position (integer),
	// hash (16 bytes, or a string), [ancestors' hashes, newest first], body as stored (bytes).
	recordBranches RecordType = 'b'
	// recordLocals: nothing. What the file said of _local documents before no longer holds.
	recordLocals RecordType = 'm'
	// RecordLocal: id (string), revision number (integer), rest: JSON text.
	RecordLocal RecordType = 'l'
	// recordPurges: nothing. What the file said of purges before no longer holds.
	recordPurges RecordType = 'q'
	// RecordPurge: id (string), [revisions]. Oldest first.
	RecordPurge RecordType = 'p'
	// RecordConfig: sequence of the end, revs_limit, purged_infos_limit (integers), partitioned (boolean), security
	// (bytes), purges (integer), then the maps of shards: since (bytes), map (bytes), as stored.
	RecordConfig RecordType = 'c'
	// recordLeft: kind, id, last id and what was left out there (strings), of a database that was damaged. A reader may
	// pass over it.
	recordLeft RecordType = 'x'
	// recordEnd: number of records before it (integer). Once, last.
	recordEnd RecordType = 'z'
)

const (
	// recordSize is what a record holds at most, a single leaf or chunk excepted.
	recordSize = 500_000
	// maxRecord bounds a payload that is read: the largest body, its history and attachment list fit several times.
	maxRecord = 64 << 20
)

// ErrExport says that a file is no export, or a damaged or incomplete one.
var ErrExport = errors.New("not a complete export")

// exportOf is what an export is of, and since when.
type exportOf struct {
	uuid        string
	incarnation int64
	version     int64 // read version at which the export began
	purges      int64 // until then
}

// Position is a point in an export from where it can be continued. The zero position is none.
type Position struct {
	Digest  [sha256.Size]byte
	Records int64
	Seq     db.Seq // everything up to it is in the file
	Offset  int64  // in the file
	of      exportOf
}

// String is the position as a text that ParseExportPosition reads. The offset is the client's own business.
func (p Position) String() string {
	return fmt.Sprintf("%x.%d.%s.%s.%d.%d.%d", p.Digest, p.Records, p.Seq, p.of.uuid, p.of.incarnation, p.of.version,
		p.of.purges)
}

// ParseExportPosition reads String's form. Invalid otherwise.
func ParseExportPosition(s string) (p Position, err error) {
	malformed := fault.Errf(fault.Invalid, "bad_request", "malformed position of an export")
	parts := strings.Split(s, ".")
	if len(parts) != 7 {
		return p, malformed
	}
	digest, err := hex.DecodeString(parts[0])
	if err != nil || copy(p.Digest[:], digest) != len(p.Digest) || len(digest) != len(p.Digest) {
		return p, malformed
	}
	if p.Seq, err = db.ParseSeq(parts[2]); err != nil {
		return p, malformed
	}
	p.of.uuid = parts[3]
	for part, n := range map[string]*int64{parts[1]: &p.Records, parts[4]: &p.of.incarnation, parts[5]: &p.of.version,
		parts[6]: &p.of.purges} {
		if *n, err = strconv.ParseInt(part, 10, 64); err != nil || *n < 0 {
			return p, malformed
		}
	}
	if p.Records < 1 {
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

// begin writes the magic.
func (w *recordWriter) begin() error {
	w.digest = sha256.Sum256([]byte(exportMagic))
	_, err := io.WriteString(w.w, exportMagic)
	return err
}

func (w *recordWriter) write(t RecordType, payload []byte) error {
	w.digest = chain(w.digest, t, payload)
	w.records++
	w.buf = append(w.buf[:0], byte(t))
	w.buf = binary.AppendUvarint(w.buf, uint64(len(payload)))
	w.buf = append(w.buf, payload...)
	w.buf = append(w.buf, w.digest[:8]...)
	_, err := w.w.Write(w.buf)
	return err
}

func chain(before [sha256.Size]byte, t RecordType, payload []byte) (digest [sha256.Size]byte) {
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

// newRecordReader reads the magic. begun is false where the file begins with something else; one that is too short has
// begun.
func newRecordReader(r io.Reader) (rr *recordReader, begun bool, err error) {
	rr = &recordReader{r: bufio.NewReaderSize(r, 1<<16), digest: sha256.Sum256([]byte(exportMagic)),
		offset: int64(len(exportMagic))}
	magic := make([]byte, len(exportMagic))
	n, err := io.ReadFull(rr.r, magic)
	begun = strings.HasPrefix(exportMagic, string(magic[:n]))
	switch {
	case err == nil && begun:
		return rr, true, nil
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return nil, begun, err
	}
	return nil, begun, fmt.Errorf("%w: it does not begin as one", ErrExport)
}

// next reads a record. io.EOF where the file ends between records; ErrExport where it is cut or damaged.
func (r *recordReader) next() (RecordType, error) {
	t, err := r.r.ReadByte()
	if err != nil {
		return 0, err
	}
	n, err := r.length()
	if err != nil {
		return 0, err
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
	digest := chain(r.digest, RecordType(t), r.payload)
	if !bytes.Equal(check[:], digest[:8]) {
		return 0, r.damaged(nil)
	}
	r.digest = digest
	r.records++
	r.offset += int64(1 + uvarintLen(n) + int(n) + len(check))
	return RecordType(t), nil
}

// length reads the length of a payload.
func (r *recordReader) length() (n uint64, err error) {
	for shift := 0; n <= maxRecord && shift < 64; shift += 7 {
		b, err := r.r.ReadByte()
		if err != nil {
			return 0, r.damaged(err)
		}
		if n |= uint64(b&0x7f) << shift; b < 0x80 && n <= maxRecord {
			return n, nil
		}
	}
	return 0, r.damaged(nil)
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
