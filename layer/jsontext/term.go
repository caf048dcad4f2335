package jsontext

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/big"
	"slices"
	"strconv"
)

// Tags of Erlang's external term format.
const (
	termFloat      = 70
	termSmallInt   = 97 // one byte
	termInt        = 98 // four bytes
	termAtom       = 100
	termTuple      = 104
	termNil        = 106 // the empty list, and the end of a list
	termString     = 107 // a list of bytes
	termList       = 108
	termBinary     = 109
	termBig        = 110
	termLargeBig   = 111
	maxTermString  = 1<<16 - 1
	termContainer  = 5 // bytes at the beginning of a list
	manyMembers    = 16
	maxBigTermSize = 255
)

// AppendTerm appends a valid JSON value as the term that CouchDB has for it, in Erlang's external term format: an
// object is a tuple with a list of pairs, a string a binary. Of several members of one name it has the last one. What
// CouchDB refuses, such as half of a surrogate pair, has a form of its own.
func AppendTerm(dst, text []byte) []byte {
	w := termWriter{scanner: Scanner{Text: text, Depth: math.MaxInt, Halves: true}, out: dst}
	w.value()
	return w.out
}

// AppendTermBinary appends a binary.
func AppendTermBinary[T ~string | ~[]byte](dst []byte, s T) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, termBinary), uint32(len(s)))
	return append(dst, s...)
}

// AppendTermInt appends an integer.
func AppendTermInt(dst []byte, n int64) []byte {
	switch {
	case n >= 0 && n <= math.MaxUint8:
		return append(dst, termSmallInt, byte(n))
	case n >= math.MinInt32 && n <= math.MaxInt32:
		return binary.BigEndian.AppendUint32(append(dst, termInt), uint32(n))
	}
	return appendBig(dst, big.NewInt(n))
}

// AppendTermBool appends the atom true or false.
func AppendTermBool(dst []byte, b bool) []byte { return appendAtom(dst, strconv.FormatBool(b)) }

// AppendTermTuple appends the beginning of a tuple of n terms, which the caller appends.
func AppendTermTuple(dst []byte, n byte) []byte { return append(dst, termTuple, n) }

// AppendTermList appends the beginning of a list of n terms, which the caller appends, followed by AppendTermNil. An
// empty list has no beginning.
func AppendTermList(dst []byte, n int) []byte {
	return binary.BigEndian.AppendUint32(append(dst, termList), uint32(n))
}

// AppendTermNil appends the end of a list, or the empty list.
func AppendTermNil(dst []byte) []byte { return append(dst, termNil) }

func appendAtom(dst []byte, name string) []byte {
	dst = binary.BigEndian.AppendUint16(append(dst, termAtom), uint16(len(name)))
	return append(dst, name...)
}

func appendBig(dst []byte, n *big.Int) []byte {
	digits := n.Bytes()
	slices.Reverse(digits)
	if len(digits) > maxBigTermSize {
		dst = binary.BigEndian.AppendUint32(append(dst, termLargeBig), uint32(len(digits)))
	} else {
		dst = append(dst, termBig, byte(len(digits)))
	}
	sign := byte(0)
	if n.Sign() < 0 {
		sign = 1
	}
	return append(append(dst, sign), digits...)
}

// termWriter writes the values of a text.
type termWriter struct {
	scanner Scanner
	out     []byte
}

func (w *termWriter) value() bool {
	s := &w.scanner
	switch c := s.Space(); c {
	case '"':
		text, escaped, ok := s.Quoted()
		w.text(text, escaped)
		return ok
	case '{':
		return w.object()
	case '[':
		return w.array()
	case 't':
		w.out = appendAtom(w.out, "true")
		return s.Word("true")
	case 'f':
		w.out = appendAtom(w.out, "false")
		return s.Word("false")
	case 'n':
		w.out = appendAtom(w.out, "null")
		return s.Word("null")
	}
	text, integer, ok := s.Number()
	w.number(text, integer)
	return ok
}

// text writes a string, given with its quotes.
func (w *termWriter) text(quoted []byte, escaped bool) {
	inside := quoted[1 : len(quoted)-1]
	if !escaped {
		w.out = AppendTermBinary(w.out, inside)
		return
	}
	at := len(w.out)
	w.out, _ = AppendUnescaped(AppendTermBinary(w.out, ""), inside, KeepHalf)
	binary.BigEndian.PutUint32(w.out[at+1:], uint32(len(w.out)-at-termContainer))
}

func (w *termWriter) number(text []byte, integer bool) {
	if !integer {
		// Out of the range of a float it is infinite, or zero; CouchDB refuses the first.
		f, _ := strconv.ParseFloat(string(text), 64)
		w.out = binary.BigEndian.AppendUint64(append(w.out, termFloat), math.Float64bits(f))
		return
	}
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		w.out = AppendTermInt(w.out, n)
		return
	}
	n, _ := new(big.Int).SetString(string(text), 10)
	w.out = appendBig(w.out, n)
}

// begin begins a list, and end ends it with n elements.
func (w *termWriter) begin() (at int) {
	at = len(w.out)
	w.out = AppendTermList(w.out, 0)
	return at
}

func (w *termWriter) end(at, n int) {
	if n == 0 {
		w.out = append(w.out[:at], termNil)
		return
	}
	binary.BigEndian.PutUint32(w.out[at+1:], uint32(n))
	w.out = append(w.out, termNil)
}

// array writes a list. One of bytes is a string.
func (w *termWriter) array() bool {
	at, n, bytes := w.begin(), 0, true
	ok := w.scanner.Container('[', 0, func([]byte, bool) bool {
		from := len(w.out)
		ok := w.value()
		n++
		bytes = bytes && w.out[from] == termSmallInt
		return ok
	})
	if w.end(at, n); !bytes || n == 0 || n > maxTermString {
		return ok
	}
	list := w.out[at+termContainer:]
	w.out = binary.BigEndian.AppendUint16(append(w.out[:at], termString), uint16(n))
	for i := range n {
		w.out = append(w.out, list[2*i+1])
	}
	return ok
}

// pair is where a member of an object is in the output.
type pair struct{ at, name, end int }

func (w *termWriter) object() bool {
	w.out = AppendTermTuple(w.out, 1)
	var few [manyMembers]pair
	at, pairs := w.begin(), few[:0]
	ok := w.scanner.Container('{', 0, func(key []byte, escaped bool) bool {
		p := pair{at: len(w.out)}
		w.out = AppendTermTuple(w.out, 2)
		w.text(key, escaped)
		p.name = len(w.out)
		ok := w.value()
		p.end = len(w.out)
		pairs = append(pairs, p)
		return ok
	})
	n := w.unique(pairs)
	w.end(at, n)
	return ok
}

// unique removes members whose name comes again, and returns how many are left.
func (w *termWriter) unique(pairs []pair) int {
	name := func(p pair) []byte { return w.out[p.at:p.name] }
	again := func(i int) bool {
		return slices.ContainsFunc(pairs[i+1:], func(p pair) bool { return bytes.Equal(name(p), name(pairs[i])) })
	}
	if len(pairs) > manyMembers {
		last := make(map[string]int, len(pairs))
		for i, p := range pairs {
			last[string(name(p))] = i
		}
		again = func(i int) bool { return last[string(name(pairs[i]))] != i }
	}
	var gone []pair
	for i, p := range pairs {
		if again(i) {
			gone = append(gone, p)
		}
	}
	for _, p := range slices.Backward(gone) {
		w.out = append(w.out[:p.at], w.out[p.end:]...)
	}
	return len(pairs) - len(gone)
}
