package kvtest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/divandb/divan/layer/kv"
)

// seed is the seed of the random tests: DIVAN_KVTEST_SEED, or a new one. It is logged so that a failure can be
// reproduced.
func seed(t *testing.T) uint64 {
	if s, err := strconv.ParseUint(os.Getenv("DIVAN_KVTEST_SEED"), 10, 64); err == nil {
		return s
	}
	s := rand.Uint64()
	t.Logf("DIVAN_KVTEST_SEED=%d", s)
	return s
}

// effort multiplies the rounds of the random tests: DIVAN_KVTEST_EFFORT, default 1.
func effort() int {
	if n, err := strconv.Atoi(os.Getenv("DIVAN_KVTEST_EFFORT")); err == nil && n > 0 {
		return n
	}
	return 1
}

// state is the content that a store or a transaction sees: the simple model that engines are compared with.
type state map[string]string

func (s state) keys() []string {
	keys := make([]string, 0, len(s))
	for k := range s {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

func (s state) get(k string) string {
	if v, ok := s[k]; ok {
		return v
	}
	return none
}

func (s state) rows(r kv.Range, o kv.RangeOptions) string {
	b, e := r.Selectors()
	keys := s.keys()
	from, to := resolveBound(keys, b), resolveBound(keys, e)
	var rows []string
	for _, k := range keys {
		if k >= from && k < to {
			rows = append(rows, k+"="+s[k])
		}
	}
	if o.Reverse {
		slices.Reverse(rows)
	}
	if o.Limit > 0 && len(rows) > o.Limit {
		rows = rows[:o.Limit]
	}
	return strings.Join(rows, " ")
}

// resolveBound is resolve, except that FirstGreaterOrEqual of a key gives that key. The range is the same, but its
// ends are exact, which matters for unreadable keys.
func resolveBound(keys []string, sel kv.KeySelector) string {
	if sel.Offset == 1 && !sel.OrEqual {
		return string(sel.Key)
	}
	return resolve(keys, sel)
}

func (s state) clearRange(b, e string) {
	for k := range s {
		if k >= b && k < e {
			delete(s, k)
		}
	}
}

// atomic defines each operation, implemented differently from any engine.
func (s state) atomic(op kv.AtomicOp, k, operand string) {
	old, ok := s[k]
	if op == kv.AtomicCompareAndClear {
		if ok && old == operand {
			delete(s, k)
		}
		return
	}
	if !ok {
		s[k] = operand
		return
	}
	n := len(operand)
	wide := (old + strings.Repeat("\x00", n))[:n]
	each := func(f func(a, b byte) byte) string {
		out := make([]byte, n)
		for i := range out {
			out[i] = f(wide[i], operand[i])
		}
		return string(out)
	}
	less := func(a, b string) bool {
		x, y := []byte(a), []byte(b)
		slices.Reverse(x)
		slices.Reverse(y)
		return bytes.Compare(x, y) < 0
	}
	switch op {
	case kv.AtomicAdd:
		carry := 0
		s[k] = each(func(a, b byte) byte {
			sum := int(a) + int(b) + carry
			carry = sum / 256
			return byte(sum % 256)
		})
	case kv.AtomicMin:
		if s[k] = operand; less(wide, operand) {
			s[k] = wide
		}
	case kv.AtomicMax:
		if s[k] = operand; less(operand, wide) {
			s[k] = wide
		}
	case kv.AtomicByteMin:
		s[k] = min(old, operand)
	case kv.AtomicByteMax:
		s[k] = max(old, operand)
	case kv.AtomicAnd:
		s[k] = each(func(a, b byte) byte { return a & b })
	case kv.AtomicOr:
		s[k] = each(func(a, b byte) byte { return a | b })
	case kv.AtomicXor:
		s[k] = each(func(a, b byte) byte { return a ^ b })
	case kv.AtomicAppendIfFits:
		if len(old)+n <= kv.MaxValueSize {
			s[k] = old + operand
		}
	}
}

// chooser draws random arguments. The keys are few and are prefixes of each other.
type chooser struct{ *rand.Rand }

func (c chooser) key() string {
	b := make([]byte, 1+c.IntN(2))
	for i := range b {
		b[i] = "\x00abc"[c.IntN(4)]
	}
	return string(b)
}

func (c chooser) value() string {
	return strings.Repeat(string(rune('A'+c.IntN(26))), c.IntN(4))
}

func (c chooser) keyRange() (string, string) {
	b, e := c.key(), c.key()
	if b > e {
		b, e = e, b
	}
	return b, e
}

func (c chooser) selector() kv.KeySelector {
	return kv.KeySelector{Key: key(c.key()), OrEqual: c.IntN(2) == 0, Offset: c.IntN(7) - 3}
}

func (c chooser) rangeRead() (kv.Range, kv.RangeOptions) {
	o := kv.RangeOptions{Reverse: c.IntN(2) == 0, Limit: c.IntN(6)}
	if c.IntN(3) == 0 {
		return kv.SelectorRange{Begin: c.selector(), End: c.selector()}, o
	}
	b, e := c.keyRange()
	return keyRange(b, e), o
}

// testModel runs random transactions one after the other and compares every read with the model, for Get and GetKey
// as of the call.
func testModel(t *testing.T, e kv.Engine) {
	s := seed(t)
	c := chooser{rand.New(rand.NewPCG(s, 1))}
	stored := state{}
	for round := range 150 * effort() {
		tx := begin(t, e)
		own := cloneState(stored)
		var late []func() // reads that are waited for at the end of the transaction
		for range 1 + c.IntN(25) {
			if step := modelStep(t, c, tx, own); c.IntN(2) == 0 {
				late = append(late, step)
			} else {
				step()
			}
		}
		for _, wait := range late {
			wait()
		}
		if t.Failed() {
			t.Fatalf("in round %d of seed %d", round, s)
		}
		if c.IntN(4) == 0 {
			tx.Cancel()
			continue
		}
		wantCommit(t, "model", tx, 0)
		stored = own
		if got, err := collect(begin(t, e), everything, kv.RangeOptions{}); err != nil ||
			got != stored.rows(everything, kv.RangeOptions{}) {
			t.Fatalf("round %d of seed %d: the store has %q, %v, the model %q", round, s, got, err,
				stored.rows(everything, kv.RangeOptions{}))
		}
		tx.Cancel()
	}
}

func cloneState(s state) state {
	c := make(state, len(s))
	for k, v := range s {
		c[k] = v
	}
	return c
}

// modelStep makes one random call and returns a function that waits for the answer and compares it.
func modelStep(t *testing.T, c chooser, tx kv.Transaction, own state) func() {
	var r kv.Reader = tx
	if c.IntN(4) == 0 {
		r = tx.Snapshot()
	}
	switch c.IntN(8) {
	case 0:
		k := c.key()
		f, want := r.Get(key(k)), own.get(k)
		return func() {
			if v, err := f.Wait(); err != nil || show(v) != want {
				t.Errorf("Get(%q) = %q, %v, want %q", k, show(v), err, want)
			}
		}
	case 1:
		sel := c.selector()
		f, want := r.GetKey(sel), resolve(own.keys(), sel)
		return func() {
			if k, err := f.Wait(); err != nil || string(k) != want {
				t.Errorf("GetKey(%s) = %q, %v, want %q", showSelector(sel), k, err, want)
			}
		}
	case 2, 3:
		kr, o := c.rangeRead()
		// Read to the end at once: writes must not come ahead of an open iterator.
		if got, err := collect(r, kr, o); err != nil || got != own.rows(kr, o) {
			t.Errorf("GetRange(%s, %+v) = %q, %v, want %q", showRange(kr), o, got, err, own.rows(kr, o))
		}
		return func() {}
	}
	m := c.mutation()
	m.send(tx)
	m.apply(own)
	return func() {}
}

// mutation is one write, applicable to an engine and to the model.
type mutation struct {
	kind       byte // one of "scra": set, clear, clear range from key to value, atomic
	op         kv.AtomicOp
	key, value string
}

func (c chooser) mutation() mutation {
	m := mutation{key: c.key(), value: c.value(), kind: "ssscra"[c.IntN(6)]}
	switch m.kind {
	case 'r':
		m.key, m.value = c.keyRange()
	case 'a':
		// Not AtomicCompareAndClear: until the commit FoundationDB's client counts the key as present when a selector
		// walks past it.
		m.op = kv.AtomicAdd + kv.AtomicOp(c.IntN(int(kv.AtomicCompareAndClear-kv.AtomicAdd)))
	}
	return m
}

func (m mutation) String() string { return fmt.Sprintf("%c%d %q %q", m.kind, m.op, m.key, m.value) }

// send applies the mutation to tx.
func (m mutation) send(tx kv.Transaction) {
	switch m.kind {
	case 's':
		tx.Set(key(m.key), []byte(m.value))
	case 'c':
		tx.Clear(key(m.key))
	case 'r':
		tx.ClearRange(keyRange(m.key, m.value))
	case 'a':
		tx.Atomic(m.op, key(m.key), []byte(m.value))
	}
}

// apply applies the mutation to the model.
func (m mutation) apply(s state) {
	switch m.kind {
	case 's':
		s[m.key] = m.value
	case 'c':
		delete(s, m.key)
	case 'r':
		s.clearRange(m.key, m.value)
	case 'a':
		s.atomic(m.op, m.key, m.value)
	}
}
