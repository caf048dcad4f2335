package db

import "errors"

// Taker takes elements off a payload, until one is not what it should be.
type Taker struct {
	B   []byte
	Err error
}

func Take[T any](t *Taker, one func([]byte) (T, []byte, error)) (v T) {
	if t.Err == nil {
		v, t.B, t.Err = one(t.B)
	}
	return v
}

// End is the error, if any, of a payload that must be used up.
func (t *Taker) End() error {
	if t.Err == nil && len(t.B) > 0 {
		t.Err = errors.New("a record is longer than it should be")
	}
	return t.Err
}
