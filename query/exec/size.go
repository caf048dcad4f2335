package exec

import (
	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/query/types"
)

// The memory of a value is counted after it has been made. A value that may be much longer than its inputs is checked
// with Room before.

// stepBytes is the number of bytes of a value that count as a step.
const stepBytes = 512

// Bytes counts the time to read n bytes. It is a types.Step.
func (s *State) Bytes(n int) error { return s.Step(1 + n/stepBytes) }

// Room returns an error if a value of n bytes would not fit into the statement's memory, and counts the time to make
// it.
func (s *State) Room(n int64) error {
	const worth = 4 << 10
	if n < worth {
		return nil
	}
	if err := s.Fits(n); err != nil {
		return err
	}
	return s.Step(int(n / stepBytes))
}

// TextOf returns the text of a value.
func (s *State) TextOf(d types.Datum, typ types.OID) (string, error) {
	if d.K == types.KText && d.I == 0 || d.K == types.KJSON {
		return d.S, nil // no copy
	}
	if err := s.Room(types.TextSize(d)); err != nil {
		return "", err
	}
	return types.TextOf(d, typ, s.Types), nil
}

// AppendJSON appends the JSON text of a value; as is JSON or JSONB.
func (s *State) AppendJSON(dst []byte, d types.Datum, typ, as types.OID) ([]byte, error) {
	if err := s.Room(int64(len(dst)) + types.JSONSize(d)); err != nil {
		return dst, err
	}
	return types.ToJSON(dst, d, typ, as, s.Types)
}

// AppendJSONString appends a text as a JSON string.
func (s *State) AppendJSONString(dst []byte, text string) ([]byte, error) {
	if err := s.Room(int64(len(dst)) + types.JSONStringSize(text)); err != nil {
		return dst, err
	}
	return jsontext.AppendQuoted(dst, text), nil
}

// Hash is types.AppendHash.
func (s *State) Hash(dst []byte, d types.Datum) ([]byte, error) {
	if brief(d) {
		return types.AppendHash(dst, d, nil)
	}
	if err := s.Room(int64(len(dst)) + types.HashSize(d)); err != nil {
		return dst, err
	}
	return types.AppendHash(dst, d, s.Bytes)
}

// brief reports whether a value is read in so little time that it need not be counted. Passing Bytes on would allocate.
func brief(d types.Datum) bool {
	switch d.K {
	case types.KText, types.KBytes:
		return len(d.S) < stepBytes
	case types.KNull, types.KBool, types.KInt, types.KFloat, types.KTime, types.KDate:
		return true
	}
	return false
}

// Compare is types.Compare, the order for sorting. Equal and Collates are the operators = and <.
func (s *State) Compare(a, b types.Datum) (int, error) {
	if brief(a) || brief(b) {
		return types.Compare(a, b)
	}
	return types.CompareStepping(a, b, s.Bytes)
}

// Equal is types.Equal.
func (s *State) Equal(a, b types.Datum) (bool, error) {
	if brief(a) || brief(b) {
		return types.Equal(a, b, nil)
	}
	return types.Equal(a, b, s.Bytes)
}

// Collates is types.Collates.
func (s *State) Collates(a, b types.Datum) (int, error) {
	if brief(a) || brief(b) {
		return types.Collates(a, b, nil)
	}
	return types.Collates(a, b, s.Bytes)
}

// read counts the time that a function takes to read its arguments.
func (s *State) read(args []types.Datum) error {
	var n int64
	for i := range args {
		n += args[i].Large()
	}
	if n == 0 {
		return nil
	}
	return s.Step(int(n / stepBytes))
}
