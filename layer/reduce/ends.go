package reduce

// Ordered is an Aggregate whose result depends on the order of the rows: that of their keys, and among rows with equal
// keys that of the index.
type Ordered interface {
	// Descending tells it that rows are added, and states merged, from the end. It is called before any are.
	Descending()
}

// end is _first and _last: the value of the row that comes first or last in the order of keys.
type end struct {
	replaces bool // the row that is added last counts
	value    []byte
	exists   bool
}

func (e *end) Descending() { e.replaces = !e.replaces }

func (e *end) Reset() { e.value, e.exists = e.value[:0], false }

func (e *end) Add(_, value []byte) error {
	if !e.exists || e.replaces {
		e.value, e.exists = append(e.value[:0], value...), true
	}
	return nil
}

func (e *end) AppendJSON(dst []byte) []byte {
	if !e.exists {
		return append(dst, "null"...)
	}
	return append(dst, e.value...)
}

// AppendState appends the value as JSON.
func (e *end) AppendState(dst []byte) ([]byte, bool) { return e.AppendJSON(dst), e.exists }

func (e *end) Merge(state []byte) error { return e.Add(nil, state) }
