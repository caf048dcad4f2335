package remote

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/divandb/divan/layer/kv"
)

// frame is one message. On the wire: the length of what follows, 4 bytes; kind, 1; object, 8; request, 4; payload. All
// big-endian.
type frame struct {
	kind    kind
	object  uint64 // the transaction or snapshot, as the client numbers them; 0 for the connection itself
	request uint32 // echoed in the answer; of a range read, also its name
	payload []byte
}

type kind uint8

// What a client sends. A payload begins with the writes that precede the request, wherever the object is a transaction;
// see writes.go.
const (
	kindWrites       kind = iota + 1 // only the writes; no answer
	kindGet                          // flags, key
	kindGetKey                       // flags, selector
	kindRange                        // flags, begin and end selectors, limit, mode
	kindRangeNext                    // the next batch of the range read with this request's number
	kindRangeClose                   // no answer
	kindReadVersion                  // nothing
	kindCommit                       // nothing
	kindEnd                          // the transaction or snapshot is no longer needed; no answer
	kindWatch                        // key; answered when the watch ends
	kindWatchCancel                  // of the watch with this request's number; no answer of its own
	kindOpenSnapshot                 // nothing
	kindCheckpoint                   // directory
	kindPing                         // nothing
	kindReclaim                      // begin, end
)

// What a server sends.
const (
	kindError      kind = iota + 101 // code, flags, message
	kindValue                        // 0, or 1 and the bytes
	kindVersion                      // 8 bytes
	kindRows                         // flags, then rows
	kindCommitted                    // version, 8 bytes, and versionstamp, 10
	kindWatchFired                   // nothing
	kindDone                         // nothing
	kindPong                         // why the store is degraded, as byte strings
)

const (
	headerSize = 4 + 1 + 8 + 4
	// maxFrame is the largest frame that is read. Writes are sent in pieces of flushWrites; what remains is keys,
	// values and batches of rows.
	maxFrame = 1 << 20
)

var errFrame = errors.New("remote: malformed frame")

// appendFrame appends a frame without its payload, which the caller appends before it calls endFrame with the length
// that dst had.
func appendFrame(dst []byte, k kind, object uint64, request uint32) []byte {
	dst = append(dst, 0, 0, 0, 0, byte(k))
	dst = binary.BigEndian.AppendUint64(dst, object)
	return binary.BigEndian.AppendUint32(dst, request)
}

// endFrame fills in the length of the frame that begins at start.
func endFrame(dst []byte, start int) []byte {
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst
}

// readFrame reads one frame. Its payload is new memory.
func readFrame(r *bufio.Reader) (f frame, err error) {
	var h [headerSize]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return f, err
	}
	n := int(binary.BigEndian.Uint32(h[:]))
	if n < headerSize-4 || n > maxFrame {
		return f, fmt.Errorf("%w: %d bytes", errFrame, n)
	}
	f.kind = kind(h[4])
	f.object = binary.BigEndian.Uint64(h[5:])
	f.request = binary.BigEndian.Uint32(h[13:])
	if n -= headerSize - 4; n > 0 {
		f.payload = make([]byte, n)
		_, err = io.ReadFull(r, f.payload)
	}
	return f, err
}

// appendBytes appends b after its length.
func appendBytes(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// decoder takes values from a payload. After the first that is not there all are empty, and err is set.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail() {
	d.err = errFrame
	d.b = nil
}

func (d *decoder) byte() byte {
	if len(d.b) == 0 {
		d.fail()
		return 0
	}
	c := d.b[0]
	d.b = d.b[1:]
	return c
}

func (d *decoder) uvarint() uint64 {
	n, size := binary.Uvarint(d.b)
	if size <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[size:]
	return n
}

func (d *decoder) varint() int64 {
	n, size := binary.Varint(d.b)
	if size <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[size:]
	return n
}

// bytes is never nil where there was a length. It shares the payload's memory.
func (d *decoder) bytes() []byte {
	n := d.uvarint()
	if d.err != nil || n > uint64(len(d.b)) {
		d.fail()
		return nil
	}
	v := d.b[:n:n]
	d.b = d.b[n:]
	return v
}

func (d *decoder) selector() kv.KeySelector {
	return kv.KeySelector{Key: d.bytes(), OrEqual: d.byte() == 1, Offset: int(d.varint())}
}

func appendSelector(dst []byte, s kv.KeySelector) []byte {
	dst = appendBytes(dst, s.Key)
	dst = append(dst, flag(s.OrEqual, 1))
	return binary.AppendVarint(dst, int64(s.Offset))
}

// flag is bit where set.
func flag(set bool, bit byte) byte {
	if set {
		return bit
	}
	return 0
}

// The flags of an error.
const (
	flagRetry = 1 << iota
	flagMaybe
)

func appendError(dst []byte, err error) []byte {
	var e *kv.Error
	if !errors.As(err, &e) {
		e = kv.NewError(kv.CodeIOError, err.Error(), nil)
	}
	message := e.Message
	if e.Err != nil {
		message = fmt.Sprintf("%s: %v", message, e.Err)
	}
	dst = binary.AppendVarint(dst, int64(e.Code))
	dst = append(dst, flag(e.Retry, flagRetry)|flag(e.Maybe, flagMaybe))
	return appendBytes(dst, []byte(message))
}

func decodeError(payload []byte) error {
	d := decoder{b: payload}
	e := &kv.Error{Code: kv.Code(d.varint())}
	flags := d.byte()
	e.Retry, e.Maybe = flags&flagRetry != 0, flags&flagMaybe != 0
	e.Message = string(d.bytes())
	if d.err != nil {
		return errProtocol
	}
	return e
}
