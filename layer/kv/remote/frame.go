package remote

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/divandb/divan/layer/kv"
)

// frame is one message. On the wire: the length of the rest, 4 bytes; kind, 1; object, 8; request, 4; payload. All
// big-endian.
type frame struct {
	kind    kind
	object  uint64 // number of the transaction or snapshot, chosen by the client; 0 for the connection itself
	request uint32 // repeated in the answer; it also names a range read
	payload []byte
}

type kind uint8

// The frames that a client sends. If the object is a transaction, the payload begins with the writes before the
// request; see writes.go.
const (
	kindWrites       kind = iota + 1 // only writes; no answer
	kindGet                          // flags, key
	kindGetKey                       // flags, selector
	kindRange                        // flags, begin and end selectors, limit, mode
	kindRangeNext                    // the next batch of the range read with this request's number
	kindRangeClose                   // no answer
	kindReadVersion                  // empty
	kindCommit                       // empty
	kindEnd                          // the transaction or snapshot is no longer needed; no answer
	kindWatch                        // key; answered when the watch ends
	kindWatchCancel                  // of the watch with this request's number; has no answer of its own
	kindOpenSnapshot                 // empty
	kindCheckpoint                   // directory
	kindPing                         // empty
	kindReclaim                      // begin, end
	kindGetFollowing                 // flags, key, prefix, suffix; only if the server is able to, see abilities
)

// The frames that a server sends.
const (
	kindError      kind = iota + 101 // code, flags, message
	kindValue                        // 0, or 1 and the bytes
	kindVersion                      // 8 bytes
	kindRows                         // flags, then rows
	kindCommitted                    // version, 8 bytes, and versionstamp, 10
	kindWatchFired                   // empty
	kindDone                         // empty
	kindPong                         // reasons why the store is degraded, as byte strings
	kindAbilities                    // abilities; sent first and last, with request 0, which older clients ignore
	kindFollowing                    // two values, each as in kindValue but with its length
)

// The abilities of a server beyond those of the first release with this protocol: a node may be older than the node
// with the store, or newer, while a cluster is upgraded.
const (
	ableToFollow = 1 << iota // kindGetFollowing
	// stopping is sent just before the server ends the connection because it stops in an orderly way, as in a restart.
	stopping
)

const (
	headerSize = 4 + 1 + 8 + 4
	// maxFrame is the largest frame that is accepted. Writes are sent in pieces of flushWrites; other payloads are
	// keys, values and batches of rows.
	maxFrame = 1 << 20
)

var errFrame = errors.New("remote: malformed frame")

// appendFrame appends a frame without its payload. The caller appends the payload, then calls endFrame with the
// length that dst had before.
func appendFrame(dst []byte, k kind, object uint64, request uint32) []byte {
	dst = append(dst, 0, 0, 0, 0, byte(k))
	dst = binary.BigEndian.AppendUint64(dst, object)
	return binary.BigEndian.AppendUint32(dst, request)
}

// endFrame sets the length of the frame that begins at start.
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

// appendBytes appends the length of b, then b.
func appendBytes(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// decoder reads values from a payload. After the first missing value, err is set and all values are empty.
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

// bytes returns a byte string, never nil unless an error occurred. It shares the payload's memory.
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

// optional returns a byte string, or nil for a missing one. See appendOptional.
func (d *decoder) optional() []byte {
	if d.byte() == 0 {
		return nil
	}
	return d.bytes()
}

// appendOptional appends whether b is not nil, and then b.
func appendOptional(dst, b []byte) []byte {
	if b == nil {
		return append(dst, 0)
	}
	return appendBytes(append(dst, 1), b)
}

func (d *decoder) selector() kv.KeySelector {
	return kv.KeySelector{Key: d.bytes(), OrEqual: d.byte() == 1, Offset: int(d.varint())}
}

func appendSelector(dst []byte, s kv.KeySelector) []byte {
	dst = appendBytes(dst, s.Key)
	dst = append(dst, flag(s.OrEqual, 1))
	return binary.AppendVarint(dst, int64(s.Offset))
}

// flag returns bit if set is true.
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
