package keys

import "bytes"

// Arena copies byte slices into larger blocks of memory. Blocks are never reused, so the copies stay valid.
type Arena struct{ Free []byte }

// Copy returns a copy of b.
func (a *Arena) Copy(b []byte) []byte {
	if len(b) > cap(a.Free)-len(a.Free) {
		size := min(max(256, 2*cap(a.Free)), 64<<10)
		if len(b) > size/4 {
			return bytes.Clone(b)
		}
		a.Free = make([]byte, 0, size)
	}
	n := len(a.Free)
	a.Free = append(a.Free, b...)
	return a.Free[n:len(a.Free):len(a.Free)]
}

// CopyValue is Copy, except that an empty value gives an empty slice: nil means that there is no value.
func (a *Arena) CopyValue(b []byte) []byte {
	if len(b) == 0 {
		return []byte{}
	}
	return a.Copy(b)
}
