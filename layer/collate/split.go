package collate

import "bytes"

// Prefix returns the part of an encoded key that all keys of its group at level share (group_level): for an array of
// at least level elements, the first level elements without the byte that ends an array; otherwise the whole key.
// whole reports which; only if it is false do other keys continue the prefix. key is one encoded key of the CouchDB
// order; the result shares its memory.
func Prefix(key []byte, level int) (prefix []byte, whole bool) {
	return cutPrefix(key, level, tagArray, couchShape)
}

// RawPrefix is Prefix for keys of the raw order.
func RawPrefix(key []byte, level int) (prefix []byte, whole bool) {
	return cutPrefix(key, level, rawArray, rawShape)
}

func cutPrefix(key []byte, level int, array byte, shapeOf func(byte) shape) (prefix []byte, whole bool) {
	if len(key) == 0 || key[0] != array {
		return key, true
	}
	at := 1
	for range level {
		if at >= len(key) || key[at] == tagEnd {
			return key, true
		}
		n := keyLen(key[at:], shapeOf)
		if n < 0 {
			return key, true
		}
		at += n
	}
	return key[:at], false
}

// shape is how the value after a tag is encoded.
type shape byte

const (
	shapeNone shape = iota
	shapeAlone
	shapePositive
	shapeNegative
	shapeText
	shapeList
)

func couchShape(tag byte) shape {
	return shapeIn(tag, &couchOrder)
}

func rawShape(tag byte) shape {
	return shapeIn(tag, &rawOrder)
}

func shapeIn(tag byte, o *order) shape {
	switch tag {
	case o.null, o.no, o.yes:
		return shapeAlone
	case o.positive:
		return shapePositive
	case o.negative:
		return shapeNegative
	case o.text:
		return shapeText
	case o.array, o.object:
		return shapeList
	}
	return shapeNone
}

// keyLen returns the length of the key at the start of b, -1 if it is incomplete. It loops instead of recursing, so
// that damaged bytes cannot exhaust the stack.
func keyLen(b []byte, shapeOf func(byte) shape) int {
	at, open := 0, 0
	for at < len(b) {
		if open > 0 && b[at] == tagEnd {
			at++
			if open--; open == 0 {
				return at
			}
			continue
		}
		n := 0
		switch s := shapeOf(b[at]); s {
		case shapeAlone:
		case shapePositive:
			n = numberLen(b[at+1:], 0)
		case shapeNegative:
			n = numberLen(b[at+1:], 0xFF)
		case shapeText:
			n = bytes.IndexByte(b[at+1:], 0) + 1
			if n == 0 {
				return -1
			}
		case shapeList:
			open++
			at++
			continue
		default:
			return -1
		}
		if n < 0 {
			return -1
		}
		if at += 1 + n; open == 0 {
			return at
		}
	}
	return -1
}

// numberLen returns the length of the magnitude at the start of b, see appendNumber; -1 if it is incomplete.
func numberLen(b []byte, flip byte) int {
	var bits uint64
	at := 0
	for shift := 56; ; shift -= 7 {
		if at >= len(b) || shift < 0 {
			return -1
		}
		c := b[at] ^ flip
		at++
		bits |= uint64(c&^1) << shift
		if c&1 == 0 {
			break
		}
	}
	bits >>= 1
	switch {
	case bits < twoTo53:
		return at
	case bits < infinity:
		if at >= len(b) {
			return -1
		}
		at += 1 + int(b[at]^flip)
	default:
		i := -1
		if len(b) > at+6 {
			i = bytes.IndexByte(b[at+6:], flip)
		}
		if i < 0 {
			return -1
		}
		at += 6 + i + 1
	}
	if at > len(b) {
		return -1
	}
	return at
}

// CutEnd returns the encoded key of an array, in either order, without the byte that ends it: the part that all arrays
// share that begin with the same elements. It returns ErrSyntax for other keys.
func CutEnd(key []byte) ([]byte, error) {
	n := len(key)
	if n < 2 || key[0] != tagArray && key[0] != rawArray || key[n-1] != tagEnd {
		return nil, ErrSyntax
	}
	return key[:n-1], nil
}
