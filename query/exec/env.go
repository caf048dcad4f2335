package exec

import (
	"context"
	"time"

	"github.com/divandb/divan/query/exec/badvalues"
	"github.com/divandb/divan/query/exec/spill"
	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/types/members"
	"github.com/divandb/divan/query/work"
)

// State is shared by all parts of one execution of a statement: parameters, the session, resource limits. It belongs to
// the connection's goroutine.
type State struct {
	*work.Work
	// Spill holds the rows that do not fit into memory.
	Spill *spill.Store
	// Bad counts values that cannot be cast.
	Bad     *badvalues.Counts
	Params  []types.Datum
	Session Session
	Types   *types.Env
	// Now is the start time of the transaction.
	Now time.Time
	// NoWait makes a read that follows the feed return ErrIdle instead of waiting. The plan may be continued
	// afterwards.
	NoWait bool
	// DB is what relations of the store are read from, and Update how fresh views must be. Sub-queries are planned with
	// them when they are first run.
	DB     Database
	Update UpdateMode
	// Tx is the transaction that a statement that writes is part of; DB is then that too.
	Tx Transaction
	// Reads describes the reads of the store that the plan makes.
	Reads struct {
		Count  int
		Views  []ViewUse
		Follow bool
		// Behind is set if an index that would have helped is not up to date.
		Behind bool
	}

	// JSON finds members of documents.
	JSON members.Memo

	args  []types.Datum // of the calls that are being evaluated, the inner ones last
	calls *CallEnv      // memory for further calls

	subs    map[*Subquery]*subState
	virtual map[string]*virtualRows
	rounds  map[*WorkTable]*spill.List
	batches map[any]*Batch // by relation
}

// NewBatch returns an empty batch for a relation. Batch returns it until EndBatch; nil if there is none.
func (s *State) NewBatch(relation any) *Batch {
	if s.batches == nil {
		s.batches = map[any]*Batch{}
	}
	b := &Batch{}
	s.batches[relation] = b
	return b
}

func (s *State) Batch(relation any) *Batch { return s.batches[relation] }

func (s *State) EndBatch(relation any) {
	if b := s.batches[relation]; b != nil {
		b.Rows.Free()
		delete(s.batches, relation)
	}
}

// Session is what functions can query and change in their session.
type Session interface {
	User() string
	Database() string
	PID() uint32
	Started() time.Time
	// Remote and Local are the ends of the connection. The host is "" if it is not one by TCP.
	Remote() (host string, port int)
	Local() (host string, port int)
	// Setting is current_setting. SetSetting is set_config; local limits the change to the transaction, and nil is the
	// default.
	Setting(name string) (string, bool)
	SetSetting(name string, value *string, local bool) error
	// ObjectOID resolves a name to a catalogue OID, for casts to regclass and the other reg types. It returns false for
	// an unknown name.
	ObjectOID(ctx context.Context, kind types.OID, name string) (int64, bool, error)
	// ObjectName is the inverse of ObjectOID.
	ObjectName(ctx context.Context, kind types.OID, oid int64) (string, bool, error)
	// Cancel cancels the statement of a session, as pg_cancel_backend does. Terminate ends the session, as
	// pg_terminate_backend does. They return false if there is no such session, and an error if it belongs to another
	// user and the caller is not an admin.
	Cancel(ctx context.Context, pid uint32) (bool, error)
	Terminate(ctx context.Context, pid uint32) (bool, error)
}

// NewState returns the state of one execution, in which nothing is spilled. The caller must close it.
func NewState(w *work.Work, s Session, params []types.Datum, env *types.Env) *State {
	return &State{Work: w, Spill: (*spill.Space)(nil).NewStore(w), Session: s, Params: params, Types: env,
		Now: time.Now()}
}

// Close releases the memory and the temporary file of the execution.
func (s *State) Close() {
	s.Spill.Close()
	s.Work.Close()
}

// SetWork sets the rows that scans of a work table return. It frees those that it had. The caller may add rows to the
// list before the scans are opened.
func (s *State) SetWork(w *WorkTable, rows *spill.List) {
	if s.rounds == nil {
		s.rounds = map[*WorkTable]*spill.List{}
	}
	s.rounds[w].Free()
	s.rounds[w] = rows
}

// Plans begins the planning of the statement, over a database.
func (s *State) Plans(db Database, update UpdateMode) {
	for _, sub := range s.subs {
		sub.free()
	}
	s.DB, s.Update, s.subs = db, update, nil
	s.Reads.Count, s.Reads.Views, s.Reads.Follow, s.Reads.Behind = 0, nil, false, false
}

// Env is where an expression finds its columns: the row of its query and the rows of the enclosing queries.
type Env struct {
	Row   []types.Datum
	Outer *Env
	*State
	// with is the innermost open WITH list around this level. let holds the values of the enclosing Lets.
	with *withFrame
	let  *letValue
}

// Count counts a large value made by an expression against the statement's memory.
func (s *State) Count(d types.Datum) error {
	if n := d.Large(); n > 0 {
		return s.Value(n)
	}
	return nil
}

// Fits returns an error if a value of n bytes would not fit into the statement's memory. See CallEnv.Making.
func (s *State) Fits(n int64) error {
	if err := s.Hold(n); err != nil {
		return err
	}
	s.Release(n)
	return nil
}

// DatumSize is the size of an array item in bytes.
const DatumSize = 48

// RowSize estimates the memory of a row in bytes.
func RowSize(row []types.Datum) int64 { return spill.RowSize(row) }
