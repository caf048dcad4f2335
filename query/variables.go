package query

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/divandb/divan/query/catalog"
	"github.com/divandb/divan/query/pgwire"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/work"
)

// variables holds a session's settings. ROLLBACK undoes all changes of a transaction; COMMIT undoes those by SET LOCAL.
// Outside a transaction block all statements up to the next ReadyForQuery are one transaction.
type variables struct {
	user   string
	memory *work.Memory
	// applied puts a changed setting into effect.
	applied func(name string)

	value   map[string]string
	initial map[string]string // the values after RESET
	// reported holds the reported settings as last sent to the client. unreported is set if one of them may have
	// changed.
	reported   map[string]string
	unreported bool
	// after holds the values that SET LOCAL hides until the end of the transaction; nil for a setting without a value.
	after map[string]*string
	// undo holds the changes of the transaction. The changes after a mark are those since a savepoint.
	undo []change
	// held is the session's memory reserved for undo.
	held int64
}

// change is the value of a setting before a change.
type change struct {
	name     string
	value    *string // nil if it had none
	after    *string
	hasAfter bool
}

// isolationSetting is the isolation level of the transaction.
const isolationSetting = "transaction_isolation"

// Limits of names and values that a client chooses.
const (
	maxVariables     = 1000
	maxVariableName  = 128
	maxVariableValue = 64 << 10
)

func newVariables(user string, memory *work.Memory, applied func(name string)) *variables {
	v := &variables{user: user, memory: memory, applied: applied,
		value: map[string]string{}, initial: map[string]string{}, reported: map[string]string{},
		after: map[string]*string{}}
	for _, s := range settings {
		v.value[s.name], v.initial[s.name] = s.value, s.value
	}
	return v
}

// begin sets the initial value of a setting.
func (v *variables) begin(name, value string) { v.value[name], v.initial[name] = value, value }

// get returns the value of a setting.
func (v *variables) get(name string) (string, bool) {
	if value, ok := v.value[name]; ok {
		return value, true
	}
	if s := harmless[name]; s != nil {
		return s.value, true
	}
	return "", false
}

// fallback returns the value of a setting after RESET; nil if it has none.
func (v *variables) fallback(name string) *string {
	if value, ok := v.initial[name]; ok {
		return &value
	}
	return nil
}

var customName = regexp.MustCompile(`^[\pL_][\pL\d_$]*(\.[\pL_][\pL\d_$]*)+$`)

func unknownSetting(name string) error {
	return sqlstate.New(sqlstate.UndefinedObject, `unrecognized configuration parameter "%s"`, name)
}

// check returns a value for a setting in its canonical form.
func (v *variables) check(name, value string) (string, error) {
	if len(value) > maxVariableValue {
		return "", sqlstate.New(sqlstate.ProgramLimitExceeded, "a setting may have at most %d bytes", maxVariableValue)
	}
	s := findSetting(name)
	if s == nil {
		return value, v.checkCustom(name)
	}
	if s.check == nil {
		return value, nil
	}
	canonical, err := s.check(value)
	if err == nil {
		return canonical, nil
	}
	c := *sqlstate.From(err)
	switch c.Message {
	case errInvalid.Message:
		label := s.label()
		if strings.HasPrefix(c.Hint, "Available values") {
			label = name // as in PostgreSQL
		}
		c.Message = fmt.Sprintf(`invalid value for parameter "%s": "%s"`, label, value)
	case errBoolean.Message:
		c.Message = fmt.Sprintf(`parameter "%s" requires a Boolean value`, s.label())
	}
	return "", &c
}

// changeable returns an error if a session cannot change a setting, not even to the value it has. A client can set a
// few more at the start.
func changeable(name string, atStart bool) error {
	s := findSetting(name)
	if s == nil || !s.fixed {
		return nil
	}
	how := "cannot be changed"
	switch s.about().context {
	case "postmaster":
		how = "cannot be changed without restarting the server"
	case "sighup":
		how = "cannot be changed now"
	case "backend", "superuser-backend":
		if atStart {
			return nil
		}
		how = "cannot be set after connection start"
	}
	return sqlstate.New(sqlstate.CantChangeParameter, `parameter "%s" %s`, s.label(), how)
}

// checkCustom refuses settings that neither Divan nor PostgreSQL has, except custom ones, whose names contain a point.
func (v *variables) checkCustom(name string) error {
	switch {
	case !strings.Contains(name, "."):
		return unknownSetting(name)
	case !customName.MatchString(name):
		return sqlstate.New(sqlstate.InvalidName, `invalid configuration parameter name "%s"`, name).
			WithDetail("Custom parameter names must be two or more simple identifiers separated by dots.")
	case strings.HasPrefix(name, "divan."):
		return sqlstate.New(sqlstate.InvalidName, `invalid configuration parameter name "%s"`, name).
			WithDetail(`"%s" is a reserved prefix.`, "divan")
	case len(name) > maxVariableName || len(v.value) > maxVariables:
		return sqlstate.New(sqlstate.ProgramLimitExceeded, "too many settings, or too long a name")
	}
	return nil
}

// set is SET and set_config, or RESET if value is nil. It checks and stores the value. mark is that of the newest
// savepoint; ROLLBACK needs the previous values of changes after it.
func (v *variables) set(name string, value *string, local bool, mark int) error {
	if err := changeable(name, false); err != nil {
		return err
	}
	if value == nil {
		if value = v.fallback(name); value == nil && harmless[name] == nil {
			if err := v.checkCustom(name); err != nil {
				return err
			}
		}
	} else {
		if err := v.mayBecome(name, *value); err != nil {
			return err
		}
		canonical, err := v.check(name, *value)
		if err != nil {
			return err
		}
		value = &canonical
	}
	if err := v.note(name, mark); err != nil {
		return err
	}
	if _, hidden := v.after[name]; !local {
		delete(v.after, name)
	} else if !hidden {
		v.after[name] = v.now(name)
	}
	v.put(name, value)
	return nil
}

// mayBecome returns an error if a setting is that of a role, and the user cannot become that.
func (v *variables) mayBecome(setting, role string) error {
	switch {
	case setting != "role" && setting != "session_authorization", setting == "role" && role == "none",
		role == v.user, role == v.initial[setting]:
		return nil
	case !catalog.IsRole(role):
		return sqlstate.New(sqlstate.InvalidParameterValue, `role "%s" does not exist`, role)
	}
	return sqlstate.New(sqlstate.InsufficientPrivilege, `permission denied to set %s "%s"`,
		strings.ReplaceAll(setting, "_", " "), role)
}

// now returns the stored value of a setting, nil if there is none.
func (v *variables) now(name string) *string {
	if value, ok := v.value[name]; ok {
		return &value
	}
	return nil
}

// note records the value of a setting for ROLLBACK.
func (v *variables) note(name string, mark int) error {
	for _, c := range v.undo[mark:] {
		if c.name == name {
			return nil
		}
	}
	c := change{name: name, value: v.now(name)}
	c.after, c.hasAfter = v.after[name]
	n := int64(len(name)) + 64
	for _, p := range []*string{c.value, c.after} {
		if p != nil {
			n += int64(len(*p))
		}
	}
	if err := v.memory.Grow(n); err != nil {
		return err
	}
	v.undo, v.held = append(v.undo, c), v.held+n
	return nil
}

// put stores a value and puts it into effect. A value of nil removes it; a custom setting is then empty, as in
// PostgreSQL, which never forgets one.
func (v *variables) put(name string, value *string) {
	switch {
	case value != nil:
		v.value[name] = *value
	case findSetting(name) == nil:
		v.value[name] = ""
	default:
		delete(v.value, name)
	}
	v.applied(name)
	if s := findSetting(name); s != nil && s.report {
		v.unreported = true
	}
}

// parameters returns the values that are reported to the client at first.
func (v *variables) parameters() []pgwire.Parameter {
	var out []pgwire.Parameter
	for i := range settings {
		if s := &settings[i]; s.report {
			v.reported[s.name] = v.value[s.name]
			out = append(out, pgwire.Parameter{Name: s.label(), Value: v.value[s.name]})
		}
	}
	return out
}

// report sends the client the settings that have changed, once before each ReadyForQuery, as PostgreSQL does.
func (v *variables) report(client pgwire.Client) {
	if !v.unreported {
		return
	}
	v.unreported = false
	for i := range settings {
		s := &settings[i]
		if value := v.value[s.name]; s.report && value != v.reported[s.name] {
			v.reported[s.name] = value
			client.ParameterStatus(s.label(), value)
		}
	}
}

// rollBack undoes the changes since a mark.
func (v *variables) rollBack(mark int) {
	for i := len(v.undo) - 1; i >= mark; i-- {
		c := v.undo[i]
		delete(v.after, c.name)
		if c.hasAfter {
			v.after[c.name] = c.after
		}
		v.put(c.name, c.value)
	}
	v.undo = v.undo[:mark]
	if mark == 0 {
		v.forgetChanges()
	}
}

// commit ends a committed transaction: it undoes only SET LOCAL.
func (v *variables) commit() {
	for name, value := range v.after {
		v.put(name, value)
	}
	v.forgetChanges()
}

func (v *variables) forgetChanges() {
	clear(v.after)
	v.undo = nil
	v.memory.Shrink(v.held)
	v.held = 0
}
