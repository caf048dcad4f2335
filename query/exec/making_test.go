package exec_test

import (
	"testing"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/work"
)

// Memory for a value that a call is making is counted for the statement, its session and the node, and released after
// the call.
func TestCallEnv_Making(t *testing.T) {
	node := work.NewNode(10 << 20)
	session := node.NewSession(10 << 20)
	defer session.Close()
	w := work.New(t.Context(), session, 8<<20, nil)
	defer w.Close()
	st := exec.NewState(w, nil, nil, &types.Env{})
	var failed error
	call := &exec.Call{Typ: types.Text,
		Func: &exec.Func{Name: "make", Eval: func(env *exec.CallEnv, _ []types.Datum) (types.Datum, error) {
			for _, n := range []int64{1 << 20, 4 << 20, 2 << 20} {
				if err := env.Making(n); err != nil {
					return types.Null, err
				}
			}
			if used := w.Used(); used != 4<<20 {
				t.Errorf("%d bytes are held, want the largest request", used)
			}
			if now, _ := node.Used(); now < 4<<20 {
				t.Errorf("the node holds %d bytes", now)
			}
			failed = env.Making(9 << 20)
			return types.NewText("made"), nil
		}}}
	for range 3 {
		if d, err := call.Eval(&exec.Env{State: st}); err != nil || d.S != "made" {
			t.Fatal(d, err)
		}
		if failed == nil {
			t.Error("more than the statement's limit was reserved")
		}
		if used := w.Used(); used != 0 {
			t.Errorf("%d bytes are held after the call", used)
		}
	}
}
