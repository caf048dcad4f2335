package tuple

import "errors"

// ErrNoSuccessor is Strinc's answer to a prefix of nothing but 0xff.
var ErrNoSuccessor = errors.New("tuple: no key sorts after every key with this prefix")

// Range is every key that is prefix followed by at least one element: begin inclusive, end exclusive. prefix itself is
// not in it. Both slices are new.
func Range(prefix []byte) (begin, end []byte) {
	// One allocation; the capacities keep an append to one from writing into the other.
	n := len(prefix) + 1
	both := make([]byte, 0, 2*n)
	both = append(append(both, prefix...), 0x00)
	both = append(append(both, prefix...), 0xff)
	return both[:n:n], both[n:]
}

// Range is every key that extends prefix and t by at least one element. See the function Range.
func (t Tuple) Range(prefix []byte) (begin, end []byte) {
	return Range(t.Append(append([]byte(nil), prefix...)))
}

// Strinc is the first key that sorts after every key with this prefix, in a new slice.
func Strinc(prefix []byte) ([]byte, error) {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			next := append([]byte(nil), prefix[:i+1]...)
			next[i]++
			return next, nil
		}
	}
	return nil, ErrNoSuccessor
}
