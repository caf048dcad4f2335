package exec

import (
	"context"
	"time"

	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/work"
)

// State is what one execution of a statement shares: parameters, the session, the bounds of its work. It belongs to the
// connection's goroutine.
type State struct {
	*work.Work
	Params  []types.Datum
	Session Session
	Types   *types.Env
	// Now is the time at which the transaction began.
	Now time.Time
	// NoWait makes a read that follows return ErrIdle through the plan instead of waiting. The plan may be asked again
	// afterwards.
	NoWait bool
	// Reads are those of the store that the plan makes.
	Reads struct {
		Count  int
		Views  []ViewUse
		Follow bool
	}

	subs    map[*Subquery]*subState
	virtual map[string][][]types.Datum
	rounds  map[*WorkTable][][]types.Datum
}

// Session is what functions may ask of the session they run in.
type Session interface {
	User() string
	Database() string
	PID() uint32
	Started() time.Time
	Remote() (host string, port int)
	// Setting is current_setting; SetSetting is set_config, local for the transaction alone.
	Setting(name string) (string, bool)
	SetSetting(name, value string, local bool) error
	// ObjectOID resolves a name to a catalogue OID, for casts to regclass and its kin. It answers false for a name that
	// is not there.
	ObjectOID(ctx context.Context, kind types.OID, name string) (int64, bool, error)
	// ObjectName is the way back.
	ObjectName(ctx context.Context, kind types.OID, oid int64) (string, bool, error)
	// Cancel ends the statement of a session as pg_cancel_backend does, Terminate the session as pg_terminate_backend
	// does. They answer false where there is no such session, and fail where it is not the user's own and he is no
	// admin.
	Cancel(ctx context.Context, pid uint32) (bool, error)
	Terminate(ctx context.Context, pid uint32) (bool, error)
}

// NewState makes the state of one execution. Whoever makes it closes the work.
func NewState(w *work.Work, s Session, params []types.Datum, env *types.Env) *State {
	return &State{Work: w, Session: s, Params: params, Types: env, Now: time.Now()}
}

// Env is where an expression finds its columns: the row of its query, and the rows of the queries around it.
type Env struct {
	Row   []types.Datum
	Outer *Env
	*State
	// with is the innermost WITH list opened around this level; let are the values of the Lets around the expression
	// under way.
	with *withFrame
	let  *letValue
}

// count counts a value that an expression has made against the statement's memory, where it is large.
func (s *State) count(d types.Datum) error {
	if n := d.Large(); n > 0 {
		return s.Value(n)
	}
	return nil
}

// Fits fails if a value of n bytes would not fit into the statement's memory. See CallEnv.Making.
func (s *State) Fits(n int64) error {
	if err := s.Hold(n); err != nil {
		return err
	}
	s.Release(n)
	return nil
}

// datumSize is what an item of an array takes, in bytes.
const DatumSize = 48

// RowSize estimates the memory of a row.
func RowSize(row []types.Datum) int64 {
	n := int64(24)
	for _, d := range row {
		n += d.Size()
	}
	return n
}
