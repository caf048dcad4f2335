package embedded

import "bytes"

// arena gives out copies of byte slices from larger pieces of memory. Pieces are never used again, so what it gave out stays valid.
type arena struct{ free []byte }

func (a *arena) copy(b []byte) []byte {
	if len(b) > cap(a.free)-len(a.free) {
		size := min(max(256, 2*cap(a.free)), 64<<10)
		if len(b) > size/4 {
			return bytes.Clone(b)
		}
		a.free = make([]byte, 0, size)
	}
	n := len(a.free)
	a.free = append(a.free, b...)
	return a.free[n:len(a.free):len(a.free)]
}

// copyValue is copy that makes an empty slice of an empty value: nil means that there is none.
func (a *arena) copyValue(b []byte) []byte {
	if len(b) == 0 {
		return []byte{}
	}
	return a.copy(b)
}
