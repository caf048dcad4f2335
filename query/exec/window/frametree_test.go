package window_test

import (
	"testing"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/window"
	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/work"
)

// numbers is a source of n rows, n-1 to 0.
type numbers struct {
	n, left int
	env     *exec.Env
}

func (s *numbers) Open(env *exec.Env) error { s.left, s.env = s.n, env; return nil }

func (s *numbers) Next() (bool, error) {
	s.left--
	if s.left >= 0 {
		s.env.Row[0] = types.NewInt(int64(s.left))
	}
	return s.left >= 0, nil
}

func (*numbers) Close() {}

func (*numbers) Describe() *exec.Description { return &exec.Description{} }

// most is a maximum that counts its additions and folds.
type most struct {
	value types.Datum
	steps *int
}

func (m *most) Add(_ *exec.Env, args []types.Datum) (err error) {
	if m.value.IsNull() {
		*m.steps++
		m.value = args[0]
		return nil
	}
	m.value, err = m.Fold(m.value, args[0])
	return err
}

func (m *most) Fold(a, b types.Datum) (types.Datum, error) {
	*m.steps++
	return types.NewInt(max(a.I, b.I)), nil
}

func (m *most) Result(*exec.Env) (types.Datum, error) { return m.value, nil }

// TestWindow_Fold checks that a frame that moves its start or excludes rows takes O(log n) steps per row for n rows,
// not O(n).
func TestWindow_Fold(t *testing.T) {
	const n = 4096
	for name, frame := range map[string]*window.Frame{
		"little memory": {Mode: window.RowsFrame, Start: window.FrameBound{Kind: window.CurrentRow},
			End: window.FrameBound{Kind: window.UnboundedFollowing}},
		"the rest": {Mode: window.RowsFrame, Start: window.FrameBound{Kind: window.CurrentRow},
			End: window.FrameBound{Kind: window.UnboundedFollowing}},
		"all others": {Mode: window.RowsFrame, End: window.FrameBound{Kind: window.UnboundedFollowing},
			Exclude: window.ExcludeRow},
	} {
		t.Run(name, func(t *testing.T) {
			steps := 0
			agg := &exec.Aggregate{Name: "most", New: func([]types.OID) exec.Accumulator {
				return &most{steps: &steps}
			}}
			arg := &exec.Col{Typ: types.Int8}
			w := &window.Window{Input: &numbers{n: n}, Width: 1, Calls: []window.Call{{Frame: frame,
				Agg: &exec.AggCall{Agg: agg, Args: []exec.Expr{arg}}, Args: []exec.Expr{arg}}}}
			session := work.NewNode(1 << 30).NewSession(1 << 30)
			defer session.Close()
			memory := int64(1 << 30)
			if name == "little memory" {
				memory = 700 << 10 // for the rows, and for a tree of blocks of 16
			}
			held := work.New(t.Context(), session, memory, nil)
			defer held.Close()
			env := &exec.Env{Row: make([]types.Datum, 2), State: exec.NewState(held, nil, nil, &types.Env{})}
			if err := w.Open(env); err != nil {
				t.Fatal(err)
			}
			for at := n - 1; at >= 0; at-- {
				ok, err := w.Next()
				if !ok || err != nil {
					t.Fatal(ok, err)
				}
				want := int64(at)
				if name == "all others" {
					if want = n - 1; at == n-1 {
						want = n - 2
					}
				}
				if got := env.Row[1].I; got != want {
					t.Fatalf("%d at %d, want %d", got, at, want)
				}
			}
			if limit := 60 * n; steps > limit {
				t.Errorf("%d steps for %d rows", steps, n)
			}
			w.Close()
			if used := held.Used(); used != 0 {
				t.Errorf("%d bytes are held at the end", used)
			}
		})
	}
}
