package query

import (
	"strings"
	"time"

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

// transaction moves between idle, in a transaction, and in a failed one.
func (ss *session) transaction(s *ast.Transaction) (string, error) {
	switch s.Verb {
	case "begin", "start":
		if ss.status != 'I' {
			ss.notice(sqlstate.New(sqlstate.ActiveTransaction, "there is already a transaction in progress"))
		} else {
			if err := ss.begin(s.Modes.Isolation, deferrable[s.Modes.Deferrable]); err != nil {
				return "", err
			}
		}
		return map[string]string{"begin": "BEGIN", "start": "START TRANSACTION"}[s.Verb], nil
	case "commit", "rollback":
		tag := strings.ToUpper(s.Verb)
		switch ss.status {
		case 'I':
			ss.notice(sqlstate.New(sqlstate.NoActiveTransaction, "there is no transaction in progress"))
		case 'E':
			tag = "ROLLBACK"
		}
		open, level := ss.status != 'I', ss.vars.value[isolationSetting]
		defers, _ := ss.vars.get("transaction_deferrable")
		ss.endTransaction(tag == "COMMIT")
		if s.Chain && open {
			return tag, ss.begin(level, defers)
		}
		return tag, nil
	case "set", "set session":
		return "SET", ss.setModes(s)
	}
	if ss.status == 'I' {
		return "", sqlstate.New(sqlstate.NoActiveTransaction, "%s can only be used in transaction blocks",
			map[string]string{"savepoint": "SAVEPOINT", "release": "RELEASE SAVEPOINT",
				"rollback to": "ROLLBACK TO SAVEPOINT"}[s.Verb])
	}
	if s.Verb == "savepoint" {
		if len(ss.savepoints) >= 10000 {
			return "", sqlstate.New(sqlstate.ProgramLimitExceeded, "too many savepoints")
		}
		ss.savepoints = append(ss.savepoints, savepoint{s.Name, len(ss.vars.undo), ss.locks.Mark(), ss.opened, len(ss.notes.actions)})
		return "SAVEPOINT", nil
	}
	at := -1
	for i, sp := range ss.savepoints {
		if sp.name == s.Name {
			at = i
		}
	}
	if at < 0 {
		return "", sqlstate.New(sqlstate.InvalidSavepoint, "savepoint %q does not exist", s.Name)
	}
	if s.Verb == "release" {
		ss.savepoints = ss.savepoints[:at]
		return "RELEASE", nil
	}
	ss.savepoints = ss.savepoints[:at+1]
	ss.rollBackVariables(ss.savepoints[at].mark)
	ss.locks.EndTransaction(ss.savepoints[at].locks)
	ss.dropNotify(ss.savepoints[at].notes)
	ss.closePortals(func(p *portal) bool { return p.opened > ss.savepoints[at].opened })
	ss.status = 'T'
	return "ROLLBACK", nil
}

// deferrable is the mode as a value of the setting. It has no effect here: no snapshot is waited for.
var deferrable = map[string]string{"deferrable": "on", "not deferrable": "off"}

// begin opens a transaction block of an isolation level, and deferrable or not, "" for the default.
func (ss *session) begin(level, defers string) error {
	if level == "" {
		level = ss.vars.value["default_"+isolationSetting]
	}
	if defers == "" {
		defers, _ = ss.vars.get("default_transaction_deferrable")
	}
	if err := ss.setVariable("transaction_deferrable", &defers, true); err != nil {
		return err
	}
	if err := ss.setVariable(isolationSetting, &level, true); err != nil {
		return err
	}
	ss.status, ss.began, ss.queried = 'T', time.Now(), false
	return nil
}

// setModes is SET TRANSACTION and SET SESSION CHARACTERISTICS. All transactions are READ ONLY, whatever they say.
func (ss *session) setModes(s *ast.Transaction) error {
	switch {
	case s.Snapshot != "":
		return ss.importSnapshot(s.Snapshot)
	}
	if d := deferrable[s.Modes.Deferrable]; d != "" {
		name, local := "transaction_deferrable", true
		if s.Verb == "set session" {
			name, local = "default_"+name, false
		}
		if err := ss.setVariable(name, &d, local); err != nil {
			return err
		}
	}
	switch {
	case s.Modes.Isolation == "":
		return nil
	case s.Verb == "set session":
		return ss.setVariable("default_"+isolationSetting, &s.Modes.Isolation, false)
	}
	return ss.setIsolation(s.Modes.Isolation)
}

// setIsolation changes the level of the transaction under way.
func (ss *session) setIsolation(level string) error {
	level, err := ss.vars.check(isolationSetting, level)
	switch {
	case err != nil:
		return err
	case ss.status != 'T':
		ss.notice(sqlstate.New(sqlstate.NoActiveTransaction, "SET TRANSACTION can only be used in transaction blocks"))
		return nil
	case level == ss.vars.value[isolationSetting]:
		return nil
	case ss.queried:
		return sqlstate.New(sqlstate.ActiveTransaction, "SET TRANSACTION ISOLATION LEVEL must be called before any query")
	case len(ss.savepoints) > 0:
		return sqlstate.New(sqlstate.ActiveTransaction,
			"SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction")
	}
	return ss.setVariable(isolationSetting, &level, true)
}
