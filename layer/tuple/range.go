package tuple

import "errors"

// ErrNoSuccessor is returned by Strinc for a prefix that consists only of 0xff bytes.
var ErrNoSuccessor = errors.New("tuple: no key sorts after every key with this prefix")

// Range returns the range of all keys that consist of prefix and at least one element: begin inclusive, end exclusive.
// It does not contain prefix itself. Both slices are newly allocated.
func Range(prefix []byte) (begin, end []byte) {
	// Use one allocation. The capacities prevent an append to one slice from writing into the other.
	n := len(prefix) + 1
	both := make([]byte, 0, 2*n)
	both = append(append(both, prefix...), 0x00)
	both = append(append(both, prefix...), 0xff)
	return both[:n:n], both[n:]
}

// Range returns the range of all keys that extend prefix and t by at least one element. See the function Range.
func (t Tuple) Range(prefix []byte) (begin, end []byte) {
	return Range(t.Append(append([]byte(nil), prefix...)))
}

// Strinc returns the first key that sorts after every key with this prefix, in a new slice.
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
