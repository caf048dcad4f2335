package layer

import (
	"errors"
	"fmt"
	"io"

	"github.com/divandb/divan/layer/tuple"
)

// ExportFile is what ReadExport finds in a file.
type ExportFile struct {
	// Begun is whether the file is an export as far as it goes, also where nothing of use has been written yet; Name is the database's, "" where that is not
	// there.
	Begun bool
	Name  string
	// Position is where the export could be continued: the last place where nothing is half written. It has no Records where it cannot be: then not even the
	// beginning is there.
	Position  ExportPosition
	Documents int64 // those that came twice counted twice
	// Left is what was left out because it was damaged, the first maxLeft of LeftOut.
	Left    []Left
	LeftOut int64
	// Size in bytes of what could be read.
	Size int64
}

// ReadExport checks an export: every record, and that it is whole. Where it is not, err is ErrExport with the reason, or why r could not be read. A file to
// be continued is cut off at the position's Offset, and what Export writes from there is appended.
func ReadExport(r io.Reader) (ExportFile, error) {
	x, err := readExport(r)
	return x.ExportFile, err
}

// exportReading is an export being read.
type exportReading struct {
	ExportFile
	header exportHeader
	config exportConfig // of the last recordConfig

	rr       *recordReader
	seq      Seq // of the document whose records are read
	reached  Seq // documents are there up to this
	document bool
	infos    int64 // purges in the last history
}

func readExport(r io.Reader) (*exportReading, error) {
	x := &exportReading{}
	var err error
	x.rr, x.Begun, err = newRecordReader(r)
	if err != nil {
		return x, err
	}
	for {
		before := ExportPosition{Digest: x.rr.digest, Records: x.rr.records, Offset: x.rr.offset}
		t, err := x.rr.next()
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("%w: it has no end", ErrExport)
		}
		if err != nil {
			return x, err
		}
		if (x.rr.records == 1) != (t == recordHeader) {
			return x, fmt.Errorf("%w: its header is not at its beginning", ErrExport)
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
				return x, fmt.Errorf("%w: something follows its end", ErrExport)
			}
			return x, nil
		}
	}
}

// record takes a record in; before is the position in front of it.
func (x *exportReading) record(t recordType, payload []byte, before ExportPosition) error {
	switch t {
	case recordDocument, recordLocals, recordPurges, recordConfig: // the document before is all there
		x.reached = x.seq
		before.Seq, before.of = x.reached, x.header.exportOf
		x.Position = before
		x.document = t == recordDocument
	}
	switch t {
	case recordHeader:
		err := x.header.parse(payload)
		x.Name = x.header.name
		return err
	case recordDocument:
		var d exportedDocument
		err := d.parse(payload)
		x.seq = d.seq
		x.Documents++
		return err
	case recordChunk, recordBranches:
		if !x.document {
			return errors.New("a part of a document is not with its document")
		}
		return checkPart(t, payload)
	case recordLocal:
		return (&exportedLocal{}).parse(payload)
	case recordPurge:
		x.infos++
		return parsePurge(payload)
	case recordPurges:
		x.infos = 0
	case recordLocals:
	case recordLeft:
		return x.leave(payload)
	case recordConfig:
		x.config = exportConfig{}
		return x.config.parse(payload)
	case recordEnd:
		return x.end(payload)
	default:
		return fmt.Errorf("it has a record of the unknown type %q", byte(t))
	}
	return nil
}

// maxLeft bounds ExportFile.Left.
const maxLeft = 10_000

func (x *exportReading) leave(payload []byte) error {
	t := taker{b: payload}
	l := Left{Kind: take(&t, tuple.TakeString), ID: take(&t, tuple.TakeString), Last: take(&t, tuple.TakeString),
		What: take(&t, tuple.TakeString)}
	if x.LeftOut++; x.LeftOut <= maxLeft {
		x.Left = append(x.Left, l)
	}
	return t.end()
}

func (x *exportReading) end(payload []byte) error {
	n, _, err := tuple.TakeInt(payload)
	switch {
	case err != nil:
		return err
	case n != x.rr.records-1:
		return fmt.Errorf("it has %d records, its end says %d", x.rr.records-1, n)
	case len(x.config.maps) == 0:
		return errors.New("it has no configuration")
	}
	return nil
}

func checkPart(t recordType, payload []byte) error {
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
