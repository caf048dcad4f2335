package keys

import "bytes"

// Arena gives out copies of byte slices from larger pieces of memory. Pieces are never used again, so what it gave out
// stays valid.
type Arena struct{ Free []byte }

// Copy is a copy of b.
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

// CopyValue is copy that makes an empty slice of an empty value: nil means that there is none.
func (a *Arena) CopyValue(b []byte) []byte {
	if len(b) == 0 {
		return []byte{}
	}
	return a.Copy(b)
}
