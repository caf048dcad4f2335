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

// An export is a sequence of records after a magic string:
//
//	type (1 byte), length of the payload (uvarint), payload, check (8 bytes)
//
// check is the beginning of a digest that chains all records so far: digest = SHA-256(previous digest, type, payload),
// where the first digest is that of the magic string. So a reader finds out at which record a file is damaged, cut, or
// combined from two files, and an export can be continued in the middle by anyone who knows the digest there and
// nothing else.
//
// Records describe the contents of a database, not its keys, so that a version of Divan with another storage layout can
// read them.
const exportMagic = "divan export 1\n"

// exportFormat is in the header. A reader rejects any other format.
const exportFormat = 1

// RecordType is the first byte of a record. Payloads consist of tuple elements; "rest" is the remaining bytes, not
// encoded.
type RecordType byte

const (
	// RecordHeader: format (integer), database name (string), uuid (string), incarnation (integer), read version at
	// which the export began (integer), number of purges until then (integer). Once, as the first record.
	RecordHeader RecordType = 'h'
	// RecordDocument: id (string), sequence of its row (incarnation, versionstamp), number of leaves (integer),
	// sequence of its winner. It replaces what the file contained of the document before. After it, the file contains
	// everything up to the row's sequence. Without leaves, the document is gone. Chunks and branches follow; if they
	// have fewer leaves than announced, the document comes again.
	RecordDocument RecordType = 'd'
	// recordChunk: attachment (UUID), number of the chunk (integer), rest: data as stored. It comes before the first
	// leaf that has the attachment.
	recordChunk RecordType = 'a'
	// recordBranches: leaves, in the order of rfc-001's keys, the winner last. Each is deleted (boolean), position
	// (integer), hash (16 bytes, or a string), [ancestors' hashes, newest first], body as stored (bytes).
	recordBranches RecordType = 'b'
	// recordLocals: empty. It invalidates the _local documents that came before.
	recordLocals RecordType = 'm'
	// RecordLocal: id (string), revision number (integer), rest: JSON text.
	RecordLocal RecordType = 'l'
	// recordPurges: empty. It invalidates the purges that came before.
	recordPurges RecordType = 'q'
	// RecordPurge: id (string), [revisions]. Oldest first.
	RecordPurge RecordType = 'p'
	// RecordConfig: last sequence, revs_limit, purged_infos_limit (integers), partitioned (boolean), security (bytes),
	// number of purges (integer), then the shard maps: since (bytes), map (bytes), as stored.
	RecordConfig RecordType = 'c'
	// recordLeft: kind, id, last id and description (strings) of what was left out of a damaged database. A reader may
	// skip it.
	recordLeft RecordType = 'x'
	// recordEnd: number of records before it (integer). Once, as the last record.
	recordEnd RecordType = 'z'
)

const (
	// recordSize is the maximum size of a record, unless it is a single leaf or chunk.
	recordSize = 500_000
	// maxRecord is the maximum size of a payload that is read. The largest body with its history and attachments fits
	// several times.
	maxRecord = 64 << 20
)

// ErrExport reports that a file is not an export, or is damaged or incomplete.
var ErrExport = errors.New("not a complete export")

// exportOf identifies an export: its database and its beginning.
type exportOf struct {
	uuid        string
	incarnation int64
	version     int64 // read version at which the export began
	purges      int64 // number of purges until then
}

// Position is a point in an export from which it can be continued. The zero Position means none.
type Position struct {
	Digest  [sha256.Size]byte
	Records int64
	Seq     db.Seq // the file contains everything up to here
	Offset  int64  // in the file
	of      exportOf
}

// String returns the position in the form that ParseExportPosition parses. It does not include the offset, which is
// only needed by the client.
func (p Position) String() string {
	return fmt.Sprintf("%x.%d.%s.%s.%d.%d.%d", p.Digest, p.Records, p.Seq, p.of.uuid, p.of.incarnation, p.of.version,
		p.of.purges)
}

// ParseExportPosition parses String's form. It returns Invalid for anything else.
func ParseExportPosition(s string) (p Position, err error) {
	malformed := fault.Errf(fault.Invalid, "bad_request", "malformed export position")
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

// begin writes the magic string.
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

// recordReader reads records. payload is valid until the next record.
type recordReader struct {
	r       *bufio.Reader
	digest  [sha256.Size]byte
	records int64
	offset  int64
	payload []byte
}

// newRecordReader reads the magic string. begun is false if the file begins differently, and true if it is only too
// short.
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
	return nil, begun, fmt.Errorf("%w: it does not begin like one", ErrExport)
}

// next reads a record. It returns io.EOF if the file ends between records, and ErrExport if it is cut or damaged.
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
