package query

import (
	"slices"
	"strings"
	"time"

	"github.com/divandb/divan/query/advisory"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
)

// savepoint is one of a transaction block, with the changes of settings before it.
type savepoint struct {
	name string
	mark int
	// locks are the transaction's advisory locks before it, opened the portals that the session had ever opened.
	locks  int
	opened int64
	notes  int // notifications of the transaction before it
}

// transaction is the state of a session between BEGIN and its end, and carries that end to all that takes part. Outside
// of a block, all statements up to the next ReadyForQuery are one transaction.
type transaction struct {
	status     byte // 'I', 'T', 'E'
	implicit   bool // several statements came in one simple query: they are a transaction, of a kind
	savepoints []savepoint
	began      time.Time
	queried    bool // it has read something

	vars    *variables
	locks   *advisory.Owner
	notes   *notifications
	portals *portals
	reads   *reads
	notice  func(*sqlstate.Error) // tells the client
}

// inBlock reports whether a transaction block is open, failed or not; statements of one simple query count as one.
func (t *transaction) inBlock() bool { return t.status != 'I' || t.implicit }

// repeatable says that the transaction under way reads one snapshot.
func (t *transaction) repeatable() bool {
	return t.status == 'T' &&
		slices.Contains([]string{"repeatable read", "serializable"}, t.vars.value[isolationSetting])
}

// mark is where the changes of settings since the newest savepoint begin.
func (t *transaction) mark() int {
	if n := len(t.savepoints); n > 0 {
		return t.savepoints[n-1].mark
	}
	return 0
}

// set is SET and set_config, with a nil value RESET.
func (t *transaction) set(name string, value *string, local bool) error {
	return t.vars.set(name, value, local, t.mark())
}

// settle ends what is not in a block, before the client is told that the session is ready.
func (t *transaction) settle() {
	if t.status == 'I' {
		t.vars.commit()
		t.notes.commit()
		t.locks.EndTransaction(0)
		t.portals.commit()
	}
	t.implicit = false
}

// fail is for an error of a statement. The cursors of a block wait for ROLLBACK or ROLLBACK TO a savepoint, which may
// be younger than they are.
func (t *transaction) fail() {
	switch t.status {
	case 'T':
		t.status = 'E'
		t.portals.close("")
		t.vars.rollBack(t.mark())
	case 'I':
		t.vars.rollBack(0)
		t.notes.drop(0)
		t.locks.EndTransaction(0)
		t.portals.rollBack()
	}
}

// end is COMMIT, or ROLLBACK.
func (t *transaction) end(commit bool) {
	t.status, t.savepoints = 'I', nil
	t.locks.EndTransaction(0)
	if commit {
		t.portals.commit()
	} else {
		t.portals.rollBack()
		t.portals.beganAt = t.portals.opened
	}
	t.reads.end()
	if commit {
		t.vars.commit()
		t.notes.commit()
	} else {
		t.vars.rollBack(0)
		t.notes.drop(0)
	}
}

// do moves between idle, in a transaction, and in a failed one.
func (t *transaction) do(s *ast.Transaction) (string, error) {
	switch s.Verb {
	case "begin", "start":
		if t.status != 'I' {
			t.notice(sqlstate.New(sqlstate.ActiveTransaction, "there is already a transaction in progress"))
		} else {
			if err := t.begin(s.Modes.Isolation, deferrable[s.Modes.Deferrable]); err != nil {
				return "", err
			}
		}
		return map[string]string{"begin": "BEGIN", "start": "START TRANSACTION"}[s.Verb], nil
	case "commit", "rollback":
		tag := strings.ToUpper(s.Verb)
		switch t.status {
		case 'I':
			t.notice(sqlstate.New(sqlstate.NoActiveTransaction, "there is no transaction in progress"))
		case 'E':
			tag = "ROLLBACK"
		}
		open, level := t.status != 'I', t.vars.value[isolationSetting]
		defers, _ := t.vars.get("transaction_deferrable")
		t.end(tag == "COMMIT")
		if s.Chain && open {
			return tag, t.begin(level, defers)
		}
		return tag, nil
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
		t.savepoints = append(t.savepoints, savepoint{s.Name, len(t.vars.undo), t.locks.Mark(), t.portals.opened,
			len(t.notes.actions)})
		return "SAVEPOINT", nil
	}
	at := -1
	for i, sp := range t.savepoints {
		if sp.name == s.Name {
			at = i
		}
	}
	if at < 0 {
		return "", sqlstate.New(sqlstate.InvalidSavepoint, "savepoint %q does not exist", s.Name)
	}
	if s.Verb == "release" {
		t.savepoints = t.savepoints[:at]
		return "RELEASE", nil
	}
	t.savepoints = t.savepoints[:at+1]
	t.vars.rollBack(t.savepoints[at].mark)
	t.locks.EndTransaction(t.savepoints[at].locks)
	t.notes.drop(t.savepoints[at].notes)
	t.portals.closeThose(func(p *portal) bool { return p.opened > t.savepoints[at].opened })
	t.status = 'T'
	return "ROLLBACK", nil
}

// deferrable is the mode as a value of the setting. It has no effect here: no snapshot is waited for.
var deferrable = map[string]string{"deferrable": "on", "not deferrable": "off"}

// begin opens a transaction block of an isolation level, and deferrable or not, "" for the default.
func (t *transaction) begin(level, defers string) error {
	if level == "" {
		level = t.vars.value["default_"+isolationSetting]
	}
	if defers == "" {
		defers, _ = t.vars.get("default_transaction_deferrable")
	}
	if err := t.set("transaction_deferrable", &defers, true); err != nil {
		return err
	}
	if err := t.set(isolationSetting, &level, true); err != nil {
		return err
	}
	t.status, t.began, t.queried = 'T', time.Now(), false
	return nil
}

// setModes is SET TRANSACTION and SET SESSION CHARACTERISTICS. All transactions are READ ONLY, whatever they say.
func (t *transaction) setModes(s *ast.Transaction) error {
	switch {
	case s.Snapshot != "":
		return t.importSnapshot(s.Snapshot)
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
	switch {
	case s.Modes.Isolation == "":
		return nil
	case s.Verb == "set session":
		return t.set("default_"+isolationSetting, &s.Modes.Isolation, false)
	}
	return t.setIsolation(s.Modes.Isolation)
}

// setIsolation changes the level of the transaction under way.
func (t *transaction) setIsolation(level string) error {
	level, err := t.vars.check(isolationSetting, level)
	switch {
	case err != nil:
		return err
	case t.status != 'T':
		t.notice(sqlstate.New(sqlstate.NoActiveTransaction, "SET TRANSACTION can only be used in transaction blocks"))
		return nil
	case level == t.vars.value[isolationSetting]:
		return nil
	case t.queried:
		return sqlstate.New(sqlstate.ActiveTransaction,
			"SET TRANSACTION ISOLATION LEVEL must be called before any query")
	case len(t.savepoints) > 0:
		return sqlstate.New(sqlstate.ActiveTransaction,
			"SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction")
	}
	return t.set(isolationSetting, &level, true)
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
