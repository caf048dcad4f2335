package exec

import (
	"context"
	"time"

	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// DefaultMemory is how much a statement may hold for sorting, grouping, joining and the like, in bytes.
const DefaultMemory = 64 << 20

// State is what one execution of a statement shares: parameters, the session, the bound on memory. It belongs to the connection's
// goroutine.
type State struct {
	// Ctx is the context of the call under way; it changes from one Execute of a portal to the next.
	Ctx     context.Context
	Params  []types.Datum
	Session Session
	Types   *types.Env
	// Now is the time at which the transaction began.
	Now time.Time
	// Memory is what is left of the bound.
	Memory int64
	// NoWait makes a read that follows return ErrIdle through the plan instead of waiting. The plan may be asked again afterwards.
	NoWait bool

	subs    map[*Subquery]*subState
	virtual map[string][][]types.Datum
	work    map[*WorkTable][][]types.Datum
	ticks   int
}

// Session is what functions may ask of the session they run in.
type Session interface {
	User() string
	Database() string
	PID() uint32
	Started() time.Time
	Remote() (host string, port int)
	// Setting is current_setting; SetSetting is set_config.
	Setting(name string) (string, bool)
	SetSetting(name, value string) error
	// ObjectOID resolves a name to a catalogue OID, for casts to regclass and its kin. It answers false for a name that is not there.
	ObjectOID(ctx context.Context, kind types.OID, name string) (int64, bool, error)
	// ObjectName is the way back.
	ObjectName(ctx context.Context, kind types.OID, oid int64) (string, bool, error)
	// Cancel is pg_cancel_backend.
	Cancel(pid uint32) bool
}

// NewState makes the state of one execution.
func NewState(s Session, params []types.Datum, env *types.Env) *State {
	return &State{Ctx: context.Background(), Session: s, Params: params, Types: env, Now: time.Now(), Memory: DefaultMemory}
}

// hold takes n bytes of the statement's memory.
func (s *State) hold(n int64) error {
	if s.Memory -= n; s.Memory < 0 {
		return sqlstate.New(sqlstate.OutOfMemory, "the statement needs more than %d MB to sort, group or join its rows", DefaultMemory>>20).
			WithHint("Narrow it with WHERE, ORDER BY a column that the read is ordered by, or use a view.")
	}
	return nil
}

// release gives memory back.
func (s *State) release(n int64) { s.Memory += n }

// tick is called in every loop that may run for long without reading from the store.
func (s *State) tick() error {
	if s.ticks++; s.ticks&255 == 0 {
		if s.Ctx.Err() != nil {
			return context.Cause(s.Ctx)
		}
	}
	return nil
}

// Env is where an expression finds its columns: the row of its query, and the rows of the queries around it.
type Env struct {
	Row   []types.Datum
	Outer *Env
	*State
}

// rowSize estimates the memory of a row.
func rowSize(row []types.Datum) int64 {
	n := int64(24)
	for _, d := range row {
		n += d.Size()
	}
	return n
}
