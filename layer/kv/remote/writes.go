package remote

import (
	"encoding/binary"

	"github.com/divandb/divan/layer/kv"
)

// The client buffers a transaction's writes and sends them before the next request that depends on them: their
// length, then for each write an opcode and its arguments. Byte strings are preceded by their lengths.
const (
	opSet            byte = iota + 1 // key, value
	opClear                          // key
	opClearRange                     // begin, end
	opAtomic                         // key, operand, operation
	opStampKey                       // key, value, offset
	opStampValue                     // key, value, offset
	opReadConflict                   // begin, end
	opWriteConflict                  // begin, end
	opSetReadVersion                 // version
	opMakesRoom                      // no arguments
)

// flushWrites is how many bytes of writes are buffered before they are sent without waiting for a request.
const flushWrites = 64 << 10

func appendOp(dst []byte, op byte, a, b []byte) []byte {
	return appendBytes(appendBytes(append(dst, op), a), b)
}

// applyWrites decodes writes and applies them to a transaction.
func applyWrites(tx kv.Transaction, encoded []byte) error {
	d := decoder{b: encoded}
	for len(d.b) > 0 {
		switch op := d.byte(); op {
		case opSet:
			tx.Set(d.pair())
		case opClear:
			tx.Clear(d.bytes())
		case opClearRange:
			tx.ClearRange(d.keyRange())
		case opAtomic:
			key, operand := d.pair()
			tx.Atomic(kv.AtomicOp(d.varint()), key, operand)
		case opStampKey:
			key, value := d.pair()
			tx.SetVersionstampedKey(key, int(d.varint()), value)
		case opStampValue:
			key, value := d.pair()
			tx.SetVersionstampedValue(key, value, int(d.varint()))
		case opReadConflict:
			tx.AddReadConflict(d.keyRange())
		case opWriteConflict:
			tx.AddWriteConflict(d.keyRange())
		case opSetReadVersion:
			tx.SetReadVersion(d.varint())
		case opMakesRoom:
			tx.MakesRoom()
		default:
			d.fail()
		}
		// The transaction got a truncated argument as an empty one: the caller ends the connection, and the
		// transaction with it.
		if d.err != nil {
			return d.err
		}
	}
	return nil
}

func (d *decoder) pair() (a, b []byte) {
	a = d.bytes()
	return a, d.bytes()
}

func (d *decoder) keyRange() kv.KeyRange {
	b, e := d.pair()
	return kv.KeyRange{Begin: b, End: e}
}

// appendWrites appends buffered writes at the start of a request's payload.
func appendWrites(dst, writes []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(writes))), writes...)
}
