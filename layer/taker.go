package layer

import "errors"

// taker takes elements off a payload, until one is not what it should be.
type taker struct {
	b   []byte
	err error
}

func take[T any](t *taker, one func([]byte) (T, []byte, error)) (v T) {
	if t.err == nil {
		v, t.b, t.err = one(t.b)
	}
	return v
}

// end is the error, if any, of a payload that must be used up.
func (t *taker) end() error {
	if t.err == nil && len(t.b) > 0 {
		t.err = errors.New("a record is longer than it should be")
	}
	return t.err
}
