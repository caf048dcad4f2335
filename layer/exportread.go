package layer

import (
	"errors"
	"fmt"
	"io"

	"github.com/divandb/divan/layer/tuple"
)

// ReadExport checks an export and finds where it could be continued: the last place in it where nothing is half written. complete is true
// where the file has its end; otherwise err is ErrExport with the reason, or why r could not be read. A file to be continued is cut off at the position's
// Offset, and what Export writes from there is appended.
func ReadExport(r io.Reader) (p ExportPosition, complete bool, err error) {
	p, _, err = readExport(r, nil)
	return p, err == nil, err
}

// readExport reads a whole file. visit sees every record before the position moves past it.
func readExport(r io.Reader, visit func(recordType, []byte) error) (p ExportPosition, header exportHeader, err error) {
	rr, err := newRecordReader(r)
	if err != nil {
		return p, header, err
	}
	var seq, reached Seq
	for {
		before := ExportPosition{Digest: rr.digest, Records: rr.records, Seq: reached, Version: header.version, Offset: rr.offset}
		t, err := rr.next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = fmt.Errorf("%w: it has no end", ErrExport)
			}
			return p, header, err
		}
		if (rr.records == 1) != (t == recordHeader) {
			return p, header, fmt.Errorf("%w: its header is not at its beginning", ErrExport)
		}
		switch t {
		case recordHeader:
			err = header.parse(rr.payload)
		case recordDocument:
			reached = seq // of the document before
			before.Seq = reached
			p = before
			seq, err = documentSeq(rr.payload)
		case recordLocals, recordConfig:
			reached = seq
			before.Seq = reached
			p = before
		case recordEnd:
			var n int64
			if n, _, err = tuple.TakeInt(rr.payload); err == nil && n != rr.records-1 {
				err = fmt.Errorf("it has %d records, its end says %d", rr.records-1, n)
			}
		case recordChunk, recordBranches, recordLocal:
		default:
			err = fmt.Errorf("it has a record of the unknown type %q", byte(t))
		}
		if err == nil && visit != nil {
			err = visit(t, rr.payload)
		}
		if err != nil {
			if !errors.Is(err, ErrExport) {
				err = fmt.Errorf("%w: %w", ErrExport, err)
			}
			return p, header, err
		}
		if t == recordEnd {
			if _, err := rr.r.ReadByte(); err != io.EOF {
				return p, header, fmt.Errorf("%w: something follows its end", ErrExport)
			}
			return p, header, nil
		}
	}
}

func documentSeq(payload []byte) (Seq, error) {
	_, rest, err := tuple.TakeString(payload)
	if err != nil {
		return Seq{}, err
	}
	seq, _, err := takeSeq(rest)
	return seq, err
}
