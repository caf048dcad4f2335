package settings

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/divandb/divan/query/catalog"
	"github.com/divandb/divan/query/pgwire"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/work"
)

// Values holds a session's settings. ROLLBACK undoes all changes of a transaction; COMMIT undoes those by SET LOCAL.
// Outside a transaction block all statements up to the next ReadyForQuery are one transaction.
type Values struct {
	user   string
	memory *work.Memory
	// applied puts a changed setting into effect.
	applied func(name string)
	// notice tells the client of a value that was cut off.
	notice func(*sqlstate.Error)

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
	// path is what SearchPath has last returned, and for which value.
	path struct {
		known bool
		text  string
		list  []string
	}
}

// change is the value of a setting before a change.
type change struct {
	name     string
	value    *string // nil if it had none
	after    *string
	hasAfter bool
}

// Limits of names and values that a client chooses.
const (
	maxVariables     = 1000
	maxVariableName  = 128
	maxVariableValue = 64 << 10
	maxIdentifier    = 63 // bytes, where PostgreSQL cuts off names
)

// New returns the defaults for a session of user, which accounts for its memory in memory. applied is called after each
// change, and notice with what the client should know.
func New(user string, memory *work.Memory, applied func(name string), notice func(*sqlstate.Error)) *Values {
	v := &Values{user: user, memory: memory, applied: applied, notice: notice,
		value: map[string]string{}, initial: map[string]string{}, reported: map[string]string{},
		after: map[string]*string{}}
	for _, s := range table {
		v.value[s.name], v.initial[s.name] = s.value, s.value
	}
	return v
}

// Init sets the initial value of a setting.
func (v *Values) Init(name, value string) { v.value[name], v.initial[name] = value, value }

// Get returns the value of a setting.
func (v *Values) Get(name string) (string, bool) {
	if value, ok := v.value[name]; ok {
		return value, true
	}
	if s := harmless[name]; s != nil {
		return s.value, true
	}
	return "", false
}

var customName = regexp.MustCompile(`^[\pL_][\pL\d_$]*(\.[\pL_][\pL\d_$]*)+$`)

func Unknown(name string) error {
	return sqlstate.New(sqlstate.UndefinedObject, `unrecognized configuration parameter "%s"`, name)
}

// Begin sets the value that a setting has at first and after RESET, as the client has asked in its start-up message.
func (v *Values) Begin(name, value string) error {
	if err := changeable(name, true); err != nil {
		return err
	}
	value, err := v.become(name, value)
	if err != nil {
		return err
	}
	v.Init(name, value)
	v.applied(name)
	return nil
}

// become returns the canonical form of a value that a client gives to a setting.
func (v *Values) become(name, value string) (string, error) {
	if s := find(name); s != nil && s.cut && len(value) > maxIdentifier {
		short := types.Truncate(value, maxIdentifier)
		v.notice(sqlstate.New(sqlstate.NameTooLong, `identifier "%s" will be truncated to "%s"`, value, short))
		value = short
	}
	if err := v.mayBecome(name, value); err != nil {
		return "", err
	}
	return v.Check(name, value)
}

// Check returns a value for a setting in its canonical form.
func (v *Values) Check(name, value string) (string, error) {
	if len(value) > maxVariableValue {
		return "", sqlstate.New(sqlstate.ProgramLimitExceeded, "a setting may have at most %d bytes", maxVariableValue)
	}
	s := find(name)
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
	s := find(name)
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
func (v *Values) checkCustom(name string) error {
	switch {
	case !strings.Contains(name, "."):
		return Unknown(name)
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

// Set is SET and set_config, or RESET if value is nil. It checks and stores the value. mark is that of the newest
// savepoint; ROLLBACK needs the previous values of changes after it.
func (v *Values) Set(name string, value *string, local bool, mark int) error {
	if err := changeable(name, false); err != nil {
		return err
	}
	if value == nil {
		if value = lookup(v.initial, name); value == nil && harmless[name] == nil {
			if err := v.checkCustom(name); err != nil {
				return err
			}
		}
	} else {
		canonical, err := v.become(name, *value)
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
		v.after[name] = lookup(v.value, name)
	}
	v.put(name, value)
	return nil
}

// mayBecome returns an error if a setting is that of a role, and the user cannot become that.
func (v *Values) mayBecome(setting, role string) error {
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

// Value returns the value of a setting that every session has.
func (v *Values) Value(name string) string { return v.value[name] }

// Mark returns the mark of a savepoint: the number of changes so far.
func (v *Values) Mark() int { return len(v.undo) }

// Changeable returns the names of the settings that RESET ALL resets, sorted.
func (v *Values) Changeable() []string {
	names := slices.Sorted(maps.Keys(v.value))
	return slices.DeleteFunc(names, func(name string) bool {
		s := find(name)
		return s != nil && s.fixed
	})
}

// lookup returns an entry of a map, nil if there is none.
func lookup(m map[string]string, name string) *string {
	if value, ok := m[name]; ok {
		return &value
	}
	return nil
}

// note records the value of a setting for ROLLBACK.
func (v *Values) note(name string, mark int) error {
	for _, c := range v.undo[mark:] {
		if c.name == name {
			return nil
		}
	}
	c := change{name: name, value: lookup(v.value, name)}
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
func (v *Values) put(name string, value *string) {
	switch {
	case value != nil:
		v.value[name] = *value
	case find(name) == nil:
		v.value[name] = ""
	default:
		delete(v.value, name)
	}
	v.applied(name)
	if s := find(name); s != nil && s.report {
		v.unreported = true
	}
}

// Parameters returns the values that are reported to the client at first.
func (v *Values) Parameters() []pgwire.Parameter {
	var out []pgwire.Parameter
	for i := range table {
		if s := &table[i]; s.report {
			v.reported[s.name] = v.value[s.name]
			out = append(out, pgwire.Parameter{Name: s.label(), Value: v.value[s.name]})
		}
	}
	return out
}

// Report sends the client the settings that have changed, once before each ReadyForQuery, as PostgreSQL does.
func (v *Values) Report(client pgwire.Client) {
	if !v.unreported {
		return
	}
	v.unreported = false
	for i := range table {
		s := &table[i]
		if value := v.value[s.name]; s.report && value != v.reported[s.name] {
			v.reported[s.name] = value
			client.ParameterStatus(s.label(), value)
		}
	}
}

// RollBack undoes the changes since a mark.
func (v *Values) RollBack(mark int) {
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

// Commit ends a committed transaction: it undoes only SET LOCAL.
func (v *Values) Commit() {
	for name, value := range v.after {
		v.put(name, value)
	}
	v.forgetChanges()
}

func (v *Values) forgetChanges() {
	clear(v.after)
	v.undo = nil
	v.memory.Shrink(v.held)
	v.held = 0
}
