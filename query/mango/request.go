package mango

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/layer/selector"
)

// Error is what is wrong with a request, with CouchDB's name.
type Error = selector.Error

func refuse(name, reason string) error { return &Error{Name: name, Reason: reason} }

// options are the members of a request that are still to be read. Of members with the same name the last one counts.
type options struct {
	members map[string]gjson.Result
	order   []string
	err     error
}

func readOptions(object gjson.Result) *options {
	o := &options{members: map[string]gjson.Result{}}
	object.ForEach(func(key, value gjson.Result) bool {
		if _, ok := o.members[key.Str]; !ok {
			o.order = append(o.order, key.Str)
		}
		o.members[key.Str] = value
		return true
	})
	return o
}

// take returns a member, which does not exist if there is none.
func (o *options) take(name string) gjson.Result {
	v := o.members[name]
	delete(o.members, name)
	return v
}

// fail keeps the first error.
func (o *options) fail(name, reason string) {
	if o.err == nil {
		o.err = refuse(name, reason)
	}
}

func (o *options) keep(err error) {
	if o.err == nil {
		o.err = err
	}
}

// end refuses members that nobody has taken.
func (o *options) end() error {
	for _, name := range o.order {
		if _, ok := o.members[name]; ok {
			o.fail("invalid_key", "Invalid key "+name+" for this request.")
		}
	}
	return o.err
}

func (o *options) boolean(name string, absent bool) bool {
	switch v := o.take(name); {
	case !v.Exists():
		return absent
	case v.IsBool():
		return v.Bool()
	default:
		o.fail("invalid_boolean", "Invalid boolean value: "+v.Raw)
		return absent
	}
}

func (o *options) integer(name string, least, absent int) int {
	v := o.take(name)
	if !v.Exists() {
		return absent
	}
	n, err := strconv.Atoi(v.Raw)
	switch {
	case err == nil && n >= least:
		return n
	case errors.Is(err, strconv.ErrRange) && n > 0:
		return math.MaxInt32 // as good as any number that is larger
	case least > 0:
		o.fail("invalid_pos_integer", v.Raw+" is not an integer greater than zero")
	default:
		o.fail("invalid_non_neg_integer", v.Raw+" is not an integer greater than or equal to zero")
	}
	return absent
}

// nonEmpty reads a name, or "" if there is none.
func (o *options) nonEmpty(name string) string {
	switch v := o.take(name); {
	case !v.Exists():
		return ""
	case v.Type != gjson.String:
		o.fail("invalid_string", "Invalid string: "+v.Raw)
	case v.Str == "":
		o.fail("invalid_empty_string", "Index name or ddoc cannot be empty string")
	default:
		return v.Str
	}
	return ""
}

// SortField is a field to sort by.
type SortField struct{ Field, Direction string }

// readSort reads a list of fields with directions, which must all be the same.
func readSort(v gjson.Result) ([]SortField, error) {
	if !v.IsArray() {
		return nil, refuse("invalid_sort_json", "Sort must be an array of sort specs, not: "+v.Raw)
	}
	var list []SortField
	for _, one := range v.Array() {
		f := SortField{one.Str, "asc"}
		members := 0
		if one.IsObject() {
			one.ForEach(func(key, value gjson.Result) bool {
				members++
				f = SortField{key.Str, value.Str}
				return true
			})
		}
		named := one.Type == gjson.String && one.Str != ""
		if directed := f.Direction == "asc" || f.Direction == "desc"; !named && !(members == 1 && directed) {
			return nil, refuse("invalid_sort_field", "Invalid sort field: "+one.Raw)
		}
		list = append(list, f)
	}
	for _, f := range list {
		if f.Direction != list[0].Direction {
			return nil, refuse("unsupported_mixed_sort",
				"Sorts currently only support a single direction for all fields.")
		}
	}
	return list, nil
}

// Query is a request to `_find` or `_explain`.
type Query struct {
	Selector       *selector.Selector
	UseIndex       []string // nothing, a design document, or a design document and an index
	Bookmark       string   // empty if there is none
	Limit, Skip    int
	Sort           []SortField
	Fields         *selector.Fields // nil means all
	Partition      string
	R              int
	Conflicts      bool
	StaleOK        bool
	Update         bool
	Stable         bool
	ExecutionStats bool
	AllowFallback  bool
}

// ReadQuery reads the body of a request. limit is the default limit.
func ReadQuery(body gjson.Result, limit int) (*Query, error) {
	o := readOptions(body)
	q := &Query{}
	switch v := o.take("selector"); {
	case !v.Exists():
		o.fail("missing_required_key", "Missing required key: selector")
	default:
		var err error
		q.Selector, err = selector.Parse([]byte(v.Raw))
		o.keep(err)
	}
	if v := o.take("use_index"); v.Exists() {
		var err error
		q.UseIndex, err = readUseIndex(v)
		o.keep(err)
	}
	switch v := o.take("bookmark"); {
	case !v.Exists() || v.Type == gjson.Null:
	case v.Type != gjson.String:
		o.fail("invalid_bookmark", "Invalid bookmark value: "+v.Raw)
	case v.Str != "nil": // what a response without rows has
		q.Bookmark = v.Str
	}
	q.Limit = o.integer("limit", 0, limit)
	q.Skip = o.integer("skip", 0, 0)
	if v := o.take("sort"); v.Exists() {
		var err error
		q.Sort, err = readSort(v)
		o.keep(err)
	}
	if v := o.take("fields"); v.Exists() {
		var err error
		q.Fields, err = selector.ParseFields(v)
		o.keep(err)
	}
	if v := o.take("partition"); v.Exists() {
		if v.Type != gjson.String {
			o.fail("illegal_partition", "Partition must be a string")
		}
		q.Partition = v.Str
	}
	q.R = o.integer("r", 1, 1)
	q.Conflicts = o.boolean("conflicts", false)
	switch v := o.take("stale"); {
	case !v.Exists() || v.Raw == "false" || v.Raw == `"false"`:
	case v.Raw == `"ok"`:
		q.StaleOK = true
	default:
		o.fail("invalid_ok_or_false_value", "Invalid value for stale: "+v.Raw)
	}
	q.Update = o.boolean("update", true)
	q.Stable = o.boolean("stable", false)
	q.ExecutionStats = o.boolean("execution_stats", false)
	q.AllowFallback = o.boolean("allow_fallback", true)
	if err := o.end(); err != nil {
		return nil, err
	}
	return q, nil
}

// readUseIndex reads the name of a design document, or of one and an index.
func readUseIndex(v gjson.Result) ([]string, error) {
	invalid := refuse("invalid_index_name", "Invalid index name: "+v.Raw)
	switch {
	case v.Type == gjson.Null:
		return nil, nil
	case v.Type == gjson.String:
		parts := strings.Split(v.Str, "/")
		if len(parts) > 1 && parts[0] == "_design" {
			parts = parts[1:]
		}
		if len(parts) > 2 {
			return nil, invalid
		}
		return parts, nil
	case !v.IsArray():
		return nil, invalid
	}
	var parts []string
	for _, part := range v.Array() {
		if part.Type != gjson.String || len(parts) == 2 {
			return nil, invalid
		}
		parts = append(parts, part.Str)
	}
	return parts, nil
}

// Descending reports whether the result is sorted from high to low.
func (q *Query) Descending() bool { return len(q.Sort) > 0 && q.Sort[0].Direction == "desc" }

// appendOptions appends the query as _explain shows it.
func (q *Query) appendOptions(dst []byte) []byte {
	dst = append(dst, `{"use_index":[`...)
	for i, part := range q.UseIndex {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsontext.AppendQuoted(dst, part)
	}
	bookmark := q.Bookmark
	if bookmark == "" {
		bookmark = "nil"
	}
	dst = jsontext.AppendQuoted(append(dst, `],"bookmark":`...), bookmark)
	dst = strconv.AppendInt(append(dst, `,"limit":`...), int64(q.Limit), 10)
	dst = strconv.AppendInt(append(dst, `,"skip":`...), int64(q.Skip), 10)
	dst = append(dst, `,"sort":{`...)
	for i, f := range q.Sort {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsontext.AppendQuoted(dst, f.Field), ':')
		dst = jsontext.AppendQuoted(dst, f.Direction)
	}
	dst = q.appendFields(append(dst, `},"fields":`...))
	dst = jsontext.AppendQuoted(append(dst, `,"partition":`...), q.Partition)
	dst = strconv.AppendInt(append(dst, `,"r":`...), int64(q.R), 10)
	dst = strconv.AppendBool(append(dst, `,"conflicts":`...), q.Conflicts)
	if q.StaleOK {
		dst = append(dst, `,"stale":"ok"`...)
	} else {
		dst = append(dst, `,"stale":false`...)
	}
	dst = strconv.AppendBool(append(dst, `,"update":`...), q.Update)
	dst = strconv.AppendBool(append(dst, `,"stable":`...), q.Stable)
	dst = strconv.AppendBool(append(dst, `,"execution_stats":`...), q.ExecutionStats)
	dst = strconv.AppendBool(append(dst, `,"allow_fallback":`...), q.AllowFallback)
	return append(dst, '}')
}

// appendFields appends the list of fields, which is empty if all are wanted.
func (q *Query) appendFields(dst []byte) []byte {
	dst = append(dst, '[')
	if q.Fields != nil {
		for i, name := range q.Fields.Names() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = jsontext.AppendQuoted(dst, name)
		}
	}
	return append(dst, ']')
}
