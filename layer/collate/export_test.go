package collate

// Skip returns what follows the encoded key at the start of b, of either order. ok is false where b does not begin with
// a whole key, which in an index means damage.
func Skip(b []byte) (rest []byte, ok bool) {
	n := keyLen(b, couchShape)
	if n < 0 {
		return nil, false
	}
	return b[n:], true
}

// SkipRaw is Skip for keys from AppendRawKey.
func SkipRaw(b []byte) (rest []byte, ok bool) {
	n := keyLen(b, rawShape)
	if n < 0 {
		return nil, false
	}
	return b[n:], true
}
