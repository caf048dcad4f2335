package state

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
)

// Values are values at regular times. NaN, in JSON null, means that there is none. JSON has four significant digits.
type Values []float32

// MarshalJSON implements json.Marshaler.
func (v Values) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 2+6*len(v))
	b = append(b, '[')
	for i, x := range v {
		if i > 0 {
			b = append(b, ',')
		}
		f := float64(x)
		switch {
		case math.IsNaN(f) || math.IsInf(f, 0):
			b = append(b, "null"...)
		case f == math.Trunc(f) && math.Abs(f) < 1e6:
			b = strconv.AppendInt(b, int64(f), 10)
		default:
			b = strconv.AppendFloat(b, f, 'g', 4, 32)
		}
	}
	return append(b, ']'), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *Values) UnmarshalJSON(text []byte) error {
	if bytes.Equal(text, []byte("null")) {
		*v = nil
		return nil
	}
	var list []*float32
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	*v = make(Values, len(list))
	for i, x := range list {
		(*v)[i] = float32(math.NaN())
		if x != nil {
			(*v)[i] = *x
		}
	}
	return nil
}
