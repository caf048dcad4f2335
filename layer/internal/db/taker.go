package db

import "errors"

// Taker decodes elements of a payload until the first error.
type Taker struct {
	B   []byte
	Err error
}

// Take decodes the next element by one, unless there was an error before.
func Take[T any](t *Taker, one func([]byte) (T, []byte, error)) (v T) {
	if t.Err == nil {
		v, t.B, t.Err = one(t.B)
	}
	return v
}

// End returns the first error, or an error if the payload has bytes left.
func (t *Taker) End() error {
	if t.Err == nil && len(t.B) > 0 {
		t.Err = errors.New("record has trailing bytes")
	}
	return t.Err
}
