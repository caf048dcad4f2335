package collate

// Skip returns the rest of b after the encoded key at its start. ok is false if b does not begin with a complete key,
// which in an index means damage.
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
