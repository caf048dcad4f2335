package query

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/divandb/divan/query/advisory"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/notify"
	"github.com/divandb/divan/query/settings"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
)

// savepoint is a savepoint of a transaction block and the state before it.
type savepoint struct {
	name string
	mark int
	// locks is the number of the transaction's advisory locks before it, opened the number of portals that the session
	// had ever opened.
	locks  int
	opened int64
	notes  int // number of notifications of the transaction before it
	writes int // position of the transaction's writes
}

// transaction is the state of a session between BEGIN and the end of the transaction, and passes that end to all that
// take part in it. Outside a block, all statements up to the next ReadyForQuery are one transaction.
type transaction struct {
	status     byte // 'I', 'T', 'E'
	implicit   bool // several statements of one simple query are an implicit transaction
	savepoints []savepoint
	began      time.Time
	queried    bool // it has read something
	// modes is set if SET TRANSACTION has set the modes of a transaction that is no block.
	modes bool

	vars    *settings.Values
	locks   *advisory.Owner
	notes   *notify.Session
	portals *portals
	reads   *reads
	notice  func(*sqlstate.Error) // sends a notice to the client
	commit  func(ctx context.Context, tx exec.Transaction) error
}

// inBlock reports whether a transaction block is open, failed or not. Several statements of one simple query count as
// one.
func (t *transaction) inBlock() bool { return t.status != 'I' || t.implicit }

// repeatable reports whether the current transaction reads one snapshot.
func (t *transaction) repeatable() bool {
	return t.status == 'T' &&
		slices.Contains([]string{"repeatable read", "serializable"}, t.vars.Value(settings.Isolation))
}

// mark returns where the changes of settings since the newest savepoint begin.
func (t *transaction) mark() int {
	if n := len(t.savepoints); n > 0 {
		return t.savepoints[n-1].mark
	}
	return 0
}

// set is SET and set_config, or RESET if value is nil.
func (t *transaction) set(name string, value *string, local bool) error {
	return t.vars.Set(name, value, local, t.mark())
}

// settle ends an implicit transaction before the client is told that the session is ready.
func (t *transaction) settle() {
	if t.status == 'I' {
		t.vars.Commit()
		t.notes.Commit()
		t.locks.EndTransaction(0)
		t.portals.commit()
	}
	t.implicit = false
	if t.status == 'I' {
		t.queried, t.modes = false, false
	}
}

// fail handles an error of a statement. The cursors of a block stay open until ROLLBACK, or ROLLBACK TO a savepoint,
// which may be newer than they are.
func (t *transaction) fail() {
	switch t.status {
	case 'T':
		t.status = 'E'
		t.portals.close("")
		t.vars.RollBack(t.mark())
	case 'I':
		t.modes = false
		t.vars.RollBack(0)
		t.notes.Drop(0)
		t.locks.EndTransaction(0)
		t.portals.rollBack()
		t.reads.end()
	}
}

// end is COMMIT, or ROLLBACK.
func (t *transaction) end(commit bool) {
	t.status, t.savepoints, t.modes, t.queried = 'I', nil, false, false
	t.locks.EndTransaction(0)
	if commit {
		t.portals.commit()
	} else {
		t.portals.rollBack()
		t.portals.beganAt = t.portals.opened
	}
	t.reads.end()
	if commit {
		t.vars.Commit()
		t.notes.Commit()
	} else {
		t.vars.RollBack(0)
		t.notes.Drop(0)
	}
}

// do changes the state between idle, in a transaction, and in a failed transaction.
func (t *transaction) do(ctx context.Context, s *ast.Transaction) (string, error) {
	switch s.Verb {
	case "begin", "start":
		if t.status != 'I' {
			t.notice(sqlstate.New(sqlstate.ActiveTransaction, "there is already a transaction in progress"))
			if err := t.setModes(&ast.Transaction{Verb: "set", Modes: s.Modes}); err != nil {
				return "", err
			}
		} else {
			m := &s.Modes
			if err := t.begin(m.Isolation, deferrable[m.Deferrable], accessModes[m.Access]); err != nil {
				return "", err
			}
		}
		return map[string]string{"begin": "BEGIN", "start": "START TRANSACTION"}[s.Verb], nil
	case "commit", "rollback":
		tag := strings.ToUpper(s.Verb)
		switch t.status {
		case 'I':
			if s.Chain {
				return "", sqlstate.New(sqlstate.NoActiveTransaction,
					"%s AND CHAIN can only be used in transaction blocks", tag)
			}
			t.notice(sqlstate.New(sqlstate.NoActiveTransaction, "there is no transaction in progress"))
		case 'E':
			tag = "ROLLBACK"
		}
		open, level, access := t.status != 'I', t.vars.Value(settings.Isolation), t.vars.Value(settings.ReadOnly)
		defers, _ := t.vars.Get("transaction_deferrable")
		var err error
		if tag == "COMMIT" {
			err = t.portals.hold(ctx)
		}
		if tag == "COMMIT" && err == nil && t.reads.tx != nil {
			err = t.commit(ctx, t.reads.tx)
		}
		if s.Verb == "rollback" {
			t.reads.tx = nil // what is undone is undone as asked
		}
		t.end(tag == "COMMIT" && err == nil)
		if s.Chain && open && err == nil {
			return tag, t.begin(level, defers, access)
		}
		return tag, err
	case "set", "set session":
		return "SET", t.setModes(s)
	}
	if t.status == 'I' {
		return "", sqlstate.New(sqlstate.NoActiveTransaction, "%s can only be used in transaction blocks",
			map[string]string{"savepoint": "SAVEPOINT", "release": "RELEASE SAVEPOINT",
				"rollback to": "ROLLBACK TO SAVEPOINT"}[s.Verb])
	}
	if s.Verb == "savepoint" {
		if len(t.savepoints) >= 10000 {
			return "", sqlstate.New(sqlstate.ProgramLimitExceeded, "too many savepoints")
		}
		t.savepoints = append(t.savepoints, savepoint{s.Name, t.vars.Mark(), t.locks.Mark(), t.portals.opened,
			t.notes.Mark(), t.written()})
		return "SAVEPOINT", nil
	}
	at := -1
	for i, sp := range t.savepoints {
		if sp.name == s.Name {
			at = i
		}
	}
	if at < 0 {
		return "", sqlstate.New(sqlstate.InvalidSavepoint, `savepoint "%s" does not exist`, s.Name)
	}
	if s.Verb == "release" {
		t.savepoints = t.savepoints[:at]
		return "RELEASE", nil
	}
	t.savepoints = t.savepoints[:at+1]
	t.vars.RollBack(t.savepoints[at].mark)
	t.locks.EndTransaction(t.savepoints[at].locks)
	t.notes.Drop(t.savepoints[at].notes)
	if t.reads.tx != nil {
		t.reads.tx.RollBack(t.savepoints[at].writes)
	}
	t.portals.closeThose(func(p *portal) bool { return p.opened > t.savepoints[at].opened })
	t.status = 'T'
	return "ROLLBACK", nil
}

// written returns the position of the transaction's writes.
func (t *transaction) written() int {
	if t.reads.tx == nil {
		return 0
	}
	return t.reads.tx.Mark()
}

// mode returns the isolation level of the current transaction, or whether it is read only.
func (t *transaction) mode(name string) string {
	if t.status == 'I' && !t.modes {
		name = "default_" + name
	}
	return t.vars.Value(name)
}

// accessModes maps the mode to a value of the setting.
var accessModes = map[string]string{"read only": "on", "read write": "off"}

// deferrable maps the mode to a value of the setting. It has no effect here, because snapshots are never waited for.
var deferrable = map[string]string{"deferrable": "on", "not deferrable": "off"}

// begin opens a transaction block. level is its isolation level, defers whether it is deferrable, and access whether it
// is read only; "" means the default.
func (t *transaction) begin(level, defers, access string) error {
	if access == "" {
		access = t.vars.Value("default_" + settings.ReadOnly)
	}
	if level == "" {
		level = t.vars.Value("default_" + settings.Isolation)
	}
	if defers == "" {
		defers, _ = t.vars.Get("default_transaction_deferrable")
	}
	if err := t.set("transaction_deferrable", &defers, true); err != nil {
		return err
	}
	if err := t.set(settings.Isolation, &level, true); err != nil {
		return err
	}
	if err := t.set(settings.ReadOnly, &access, true); err != nil {
		return err
	}
	t.status, t.began, t.queried = 'T', time.Now().Truncate(time.Microsecond), false
	return nil
}

// setModes is SET TRANSACTION and SET SESSION CHARACTERISTICS.
func (t *transaction) setModes(s *ast.Transaction) error {
	switch {
	case s.Snapshot != "":
		return t.importSnapshot(s.Snapshot)
	}
	if s.Verb == "set" && !t.inBlock() {
		t.notice(sqlstate.New(sqlstate.NoActiveTransaction, "SET TRANSACTION can only be used in transaction blocks"))
	}
	if d := deferrable[s.Modes.Deferrable]; d != "" {
		name, local := "transaction_deferrable", true
		if s.Verb == "set session" {
			name, local = "default_"+name, false
		}
		if err := t.set(name, &d, local); err != nil {
			return err
		}
	}
	if a := accessModes[s.Modes.Access]; a != "" {
		var err error
		if s.Verb == "set session" {
			err = t.set("default_"+settings.ReadOnly, &a, false)
		} else {
			err = t.setAccess(a)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case s.Modes.Isolation == "":
		return nil
	case s.Verb == "set session":
		return t.set("default_"+settings.Isolation, &s.Modes.Isolation, false)
	}
	return t.setIsolation(s.Modes.Isolation)
}

// setAccess changes whether the current transaction may write.
func (t *transaction) setAccess(value string) error {
	value, err := t.vars.Check(settings.ReadOnly, value)
	switch {
	case err != nil:
		return err
	case value == "on" || t.mode(settings.ReadOnly) == "off":
	case len(t.savepoints) > 0:
		return sqlstate.New(sqlstate.ActiveTransaction,
			"cannot set transaction read-write mode inside a read-only transaction")
	case t.queried:
		return sqlstate.New(sqlstate.ActiveTransaction,
			"transaction read-write mode must be set before any query")
	}
	return t.setMode(settings.ReadOnly, value)
}

// setIsolation changes the level of the current transaction.
func (t *transaction) setIsolation(level string) error {
	level, err := t.vars.Check(settings.Isolation, level)
	switch {
	case err != nil:
		return err
	case level == t.mode(settings.Isolation):
		return nil
	case t.queried:
		return sqlstate.New(sqlstate.ActiveTransaction,
			"SET TRANSACTION ISOLATION LEVEL must be called before any query")
	case len(t.savepoints) > 0:
		return sqlstate.New(sqlstate.ActiveTransaction,
			"SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction")
	}
	return t.setMode(settings.Isolation, level)
}

// setMode sets a mode of the current transaction, which need not be a block.
func (t *transaction) setMode(name, value string) error {
	if t.status == 'I' && !t.modes {
		for _, each := range []string{settings.Isolation, settings.ReadOnly} {
			inherited := t.mode(each)
			if err := t.set(each, &inherited, true); err != nil {
				return err
			}
		}
		t.modes = true
	}
	return t.set(name, &value, true)
}

// importSnapshot is SET TRANSACTION SNAPSHOT.
func (t *transaction) importSnapshot(id string) error {
	switch {
	case t.status != 'T':
		return sqlstate.New(sqlstate.ActiveTransaction,
			"SET TRANSACTION SNAPSHOT can only be used in transaction blocks")
	case t.queried:
		return sqlstate.New(sqlstate.ActiveTransaction, "SET TRANSACTION SNAPSHOT must be called before any query")
	case !t.repeatable():
		return sqlstate.New(sqlstate.FeatureNotSupported,
			"a snapshot-importing transaction must have isolation level SERIALIZABLE or REPEATABLE READ")
	}
	if err := t.reads.importNamed(id); err != nil {
		return err
	}
	t.queried = true
	return nil
}
