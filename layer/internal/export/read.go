package export

import (
	"errors"
	"fmt"
	"io"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/tuple"
)

// File is what Read finds in a file.
type File struct {
	// Begun reports whether the file is an export as far as it goes, even if nothing useful has been written. Name is
	// the database's, or "" if it is missing.
	Begun bool
	Name  string
	// Position is where the export can be continued: the last place at which nothing is half written. Its Records is 0
	// if the export cannot be continued, because even the header is missing.
	Position  Position
	Documents int64 // documents that came twice are counted twice
	// Left describes what was left out because it was damaged: the first maxLeft of LeftOut items.
	Left    []Left
	LeftOut int64
	// Size is the number of bytes that could be read.
	Size int64
}

// Read checks an export: every record, and that it is complete. Otherwise err is ErrExport with the reason, or the
// error of r. To continue the export, the file is truncated at Position.Offset, and what Export writes is appended.
func Read(r io.Reader) (File, error) {
	x, err := Scan(r)
	return x.File, err
}

// exportReading is an export being read.
type exportReading struct {
	File
	header Header
	config Config // from the last RecordConfig

	rr       *recordReader
	seq      db.Seq // of the current document
	reached  db.Seq // documents are complete up to here
	document bool
	infos    int64 // purges in the last history
}

// Scan reads and checks a whole export.
func Scan(r io.Reader) (*exportReading, error) {
	x := &exportReading{}
	var err error
	x.rr, x.Begun, err = newRecordReader(r)
	if err != nil {
		return x, err
	}
	for {
		before := Position{Digest: x.rr.digest, Records: x.rr.records, Offset: x.rr.offset}
		t, err := x.rr.next()
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("%w: it has no end record", ErrExport)
		}
		if err != nil {
			return x, err
		}
		if (x.rr.records == 1) != (t == RecordHeader) {
			return x, fmt.Errorf("%w: its header is not the first record", ErrExport)
		}
		if err := x.record(t, x.rr.payload, before); err != nil {
			if !errors.Is(err, ErrExport) {
				err = fmt.Errorf("%w: after byte %d: %w", ErrExport, before.Offset, err)
			}
			return x, err
		}
		x.Size = x.rr.offset
		if t == recordEnd {
			if _, err := x.rr.r.ReadByte(); err != io.EOF {
				return x, fmt.Errorf("%w: it has data after its end record", ErrExport)
			}
			return x, nil
		}
	}
}

// record checks a record. before is the position before it.
func (x *exportReading) record(t RecordType, payload []byte, before Position) error {
	switch t {
	// The previous document is complete.
	case RecordDocument, recordLocals, recordPurges, RecordConfig:
		x.reached = x.seq
		before.Seq, before.of = x.reached, x.header.exportOf
		x.Position = before
		x.document = t == RecordDocument
	}
	switch t {
	case RecordHeader:
		err := x.header.Parse(payload)
		x.Name = x.header.name
		return err
	case RecordDocument:
		var d Document
		err := d.Parse(payload)
		x.seq = d.seq
		x.Documents++
		return err
	case recordChunk, recordBranches:
		if !x.document {
			return errors.New("a part of a document without its document")
		}
		return CheckPart(t, payload)
	case RecordLocal:
		return (&Local{}).Parse(payload)
	case RecordPurge:
		x.infos++
		return ParsePurge(payload)
	case recordPurges:
		x.infos = 0
	case recordLocals:
	case recordLeft:
		return x.leave(payload)
	case RecordConfig:
		x.config = Config{}
		return x.config.Parse(payload)
	case recordEnd:
		return x.end(payload)
	default:
		return fmt.Errorf("record of unknown type %q", byte(t))
	}
	return nil
}

// maxLeft is the maximum length of File.Left.
const maxLeft = 10_000

func (x *exportReading) leave(payload []byte) error {
	t := db.Taker{B: payload}
	l := Left{Kind: db.Take(&t, tuple.TakeString), ID: db.Take(&t, tuple.TakeString),
		Last: db.Take(&t, tuple.TakeString),
		What: db.Take(&t, tuple.TakeString)}
	if x.LeftOut++; x.LeftOut <= maxLeft {
		x.Left = append(x.Left, l)
	}
	return t.End()
}

func (x *exportReading) end(payload []byte) error {
	n, _, err := tuple.TakeInt(payload)
	switch {
	case err != nil:
		return err
	case n != x.rr.records-1:
		return fmt.Errorf("it has %d records, but its end record says %d", x.rr.records-1, n)
	case len(x.config.maps) == 0:
		return errors.New("it has no configuration")
	}
	return nil
}

// CheckPart checks a record that is a part of a document.
func CheckPart(t RecordType, payload []byte) error {
	if t == recordChunk {
		return (&exportedChunk{}).parse(payload)
	}
	for rest := payload; len(rest) > 0; {
		var err error
		if _, rest, err = takeLeaf(rest); err != nil {
			return err
		}
	}
	return nil
}
