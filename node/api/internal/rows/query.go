package rows

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/decode"
	"github.com/divandb/divan/node/api/internal/fault"
	"github.com/divandb/divan/node/api/internal/render"
)

// rowsQuery has the parameters of views and of _all_docs, from the query string or a body
// (couch_mrview_http:parse_params). Keys are unparsed JSON.
type rowsQuery struct {
	startKey, endKey     string // JSON; empty if not given
	keys                 []string
	hasKeys              bool
	startDocID, endDocID string
	excludeEnd           bool
	descending           bool
	limit, skip          int // a negative limit means none
	includeDocs          bool
	conflicts            *bool
	render               render.Options
	updateSeq            bool
	update               UpdateMode
	reduce, group        *bool
	groupLevel           *int
	partition            string   // empty if none is named
	public               []string // the members of documents that are shown; nil: all
}

func newRowsQuery() rowsQuery { return rowsQuery{limit: -1} }

// keyCost is the memory for each requested key, in addition to its text.
const keyCost = 128

// readQuery reads the parameters of a GET or a POST. keysNoList is the message for keys in a body that are not a list.
func readQuery(q *call.Request, singleKey bool, keysNoList string) (r rowsQuery, err error) {
	r = newRowsQuery()
	if q.Method == http.MethodPost {
		if err := r.readBody(q, singleKey, keysNoList); err != nil {
			return r, err
		}
	}
	return r, r.takeParams(q.Params, singleKey)
}

// cap applies the options query_limit and partition_query_limit: a query without a limit gets the largest one
// (couch_mrview_util:apply_limit).
func (r *rowsQuery) cap(q *call.Request) error {
	option := "query_limit"
	if r.partition != "" {
		option = "partition_query_limit"
	}
	const infinity = "infinity"
	text := call.Option(q, "query_server_config", option, infinity)
	if text == infinity {
		return nil
	}
	most, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return err // cannot happen: the options are checked when they are set
	case r.limit < 0:
		r.limit = most
	case r.limit > most:
		return fault.BadQuery("Limit is too large, must not exceed %d", most)
	}
	return nil
}

func (r *rowsQuery) readBody(q *call.Request, singleKey bool, keysNoList string) error {
	if err := q.RequireJSON(); err != nil {
		return err
	}
	inPath := newRowsQuery()
	if err := inPath.takeParams(q.Params, singleKey); err != nil { // reported before the body is read
		return err
	}
	body, err := q.Body.Object()
	if err != nil {
		return err
	}
	if queries := decode.Member(body, "queries"); singleKey && queries.Exists() {
		if !queries.IsArray() {
			return fault.BadRequest("`queries` member must be an array.")
		}
		return fault.BadRequest("The `queries` parameter is no longer supported at this endpoint")
	}
	keys := decode.Member(body, "keys")
	if keys.Exists() && !keys.IsArray() {
		return fault.BadRequest("%s", keysNoList)
	}
	if err := q.Body.Parts(int64(keyCost * decode.Elements(keys))); err != nil {
		return err
	}
	return r.takeBody(body, singleKey)
}

// takeParams reads the query string, in which later values win. With singleKey, as for views, a list of one key means
// that key.
func (r *rowsQuery) takeParams(ps call.Params, singleKey bool) error {
	for _, p := range ps {
		v := value{text: p.Value}
		switch p.Name {
		case "key", "keys", "startkey", "start_key", "endkey", "end_key":
			json, err := decode.Text(p.Value)
			if err != nil {
				return err
			}
			v.json = json
		}
		if err := r.take(p.Name, v, singleKey); err != nil {
			return err
		}
	}
	return nil
}

// takeBody reads the members of a JSON body.
func (r *rowsQuery) takeBody(body gjson.Result, singleKey bool) (err error) {
	body.ForEach(func(key, member gjson.Result) bool {
		err = r.take(key.Str, jsonValue(member), singleKey)
		return err == nil
	})
	return err
}

// value is a parameter's value: its text, and its JSON if it is valid.
type value struct {
	text   string
	json   gjson.Result
	inBody bool // it is a member of the body, not of the query string
}

// jsonValue returns the value of a member of a body. A string is not a number, even if it looks like one.
func jsonValue(v gjson.Result) value {
	if v.Type == gjson.String {
		return value{text: v.Str, json: v, inBody: true}
	}
	return value{text: v.Raw, json: v, inBody: true}
}

// shown returns v as error messages show it, as in CouchDB.
func (v *value) shown() string {
	switch {
	case !v.inBody:
		return quoted(v.text)
	case v.json.Type == gjson.String:
		return "<<" + quoted(v.text) + ">>"
	default:
		return v.text
	}
}

func (v *value) bool() (bool, error) {
	switch strings.ToLower(v.text) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fault.BadQuery("Invalid boolean parameter: %s", v.shown())
}

// count parses a number that must not be negative.
func (v *value) count() (int, error) {
	n, err := strconv.ParseInt(v.text, 10, 64)
	if err != nil || v.json.Type == gjson.String {
		return 0, fault.BadQuery("Invalid value for integer: %s", v.shown())
	}
	if n < 0 {
		return 0, fault.BadQuery("Invalid value for positive integer: %s", v.shown())
	}
	return int(n), nil
}

func (r *rowsQuery) take(name string, v value, singleKey bool) (err error) {
	switch name {
	case "key":
		r.startKey, r.endKey = v.json.Raw, v.json.Raw
	case "keys":
		return r.takeKeys(v.json, singleKey)
	case "startkey", "start_key":
		r.startKey = v.json.Raw
	case "endkey", "end_key":
		r.endKey = v.json.Raw
	case "startkey_docid", "start_key_doc_id":
		r.startDocID = v.text
	case "endkey_docid", "end_key_doc_id":
		r.endDocID = v.text
	case "limit":
		r.limit, err = v.count()
	case "skip":
		r.skip, err = v.count()
	case "group_level":
		var n int
		n, err = v.count()
		r.groupLevel = &n
	case "stale", "update", "stable":
		return r.takeFreshness(name, v.text)
	case "partition":
		r.partition, err = v.text, layer.ValidatePartition(v.text)
	default:
		return r.takeBool(name, &v)
	}
	return err
}

func (r *rowsQuery) takeKeys(v gjson.Result, singleKey bool) error {
	if !v.IsArray() {
		if singleKey {
			return fault.BadQuery("`keys` must be an array of strings.")
		}
		return fault.BadRequest("`keys` parameter must be an array.")
	}
	r.keys, r.hasKeys = make([]string, 0, decode.Elements(v)), true
	v.ForEach(func(_, key gjson.Result) bool {
		r.keys = append(r.keys, key.Raw)
		return true
	})
	if len(r.keys) == 1 { // it replaces a range that was given before
		r.startKey, r.endKey = r.keys[0], r.keys[0]
		if singleKey {
			r.keys, r.hasKeys = nil, false
		}
	}
	return nil
}

// takeFreshness reads update= and stale=, its former name (V7). stable=, which chose between replicas, is only
// validated.
func (r *rowsQuery) takeFreshness(name, text string) error {
	switch {
	case name == "update" && text == "true":
		r.update = UpdateTrue
	case name == "update" && text == "false", name == "stale" && text == "ok":
		r.update = UpdateFalse
	case name == "update" && text == "lazy", name == "stale" && text == "update_after":
		r.update = UpdateLazy
	case name == "stable" && (text == "true" || text == "false"):
	default:
		return fault.BadQuery("Invalid value for `%s`.", name)
	}
	return nil
}

func (r *rowsQuery) takeBool(name string, v *value) error {
	on, err := v.bool()
	switch name {
	case "descending":
		r.descending = on
	case "inclusive_end":
		r.excludeEnd = !on
	case "include_docs":
		r.includeDocs = on
	case "attachments":
		r.render.Attachments = r.render.Attachments || on
	case "att_encoding_info":
		r.render.EncodingInfo = r.render.EncodingInfo || on
	case "update_seq":
		r.updateSeq = on
	case "conflicts":
		r.conflicts = &on
	case "sorted":
		// rows are always sorted
	case "reduce":
		r.reduce = &on
	case "group":
		r.group = &on
	default:
		return nil // unknown parameters are ignored
	}
	return err
}

// check refuses the combinations that CouchDB refuses (couch_mrview_util:validate_args). reducing means that the
// response will be reduced.
func (r *rowsQuery) check(reducing bool) error {
	if !reducing && r.reduce != nil && *r.reduce {
		return fault.BadQuery("Reduce is invalid for map-only views.")
	}
	exact := r.group != nil && *r.group && r.groupLevel == nil
	level := 0
	if r.groupLevel != nil {
		level = *r.groupLevel
	}
	switch {
	case r.group != nil && !*r.group && level > 0:
		return fault.BadQuery("Can't specify group=false and group_level>0 at the same time")
	case reducing && !exact && r.hasKeys:
		return fault.BadQuery("Multi-key fetches for reduce views must use `group=true`")
	case len(r.keys) > 0 && r.rangeBesideKeys():
		return fault.BadQuery("`keys` is incompatible with `key`, `start_key` and `end_key`")
	case !reducing && (exact || level > 0):
		return fault.BadQuery("Invalid use of grouping on a map view.")
	case reducing && r.includeDocs:
		return fault.BadQuery("`include_docs` is invalid for reduce")
	case reducing && r.conflicts != nil:
		return fault.BadQuery("`conflicts` is invalid for reduce views.")
	}
	return nil
}

// rangeBesideKeys reports whether a range was given in addition to keys. Repeating the only key does not count.
func (r *rowsQuery) rangeBesideKeys() bool {
	if r.startKey == "" && r.endKey == "" {
		return false
	}
	return len(r.keys) != 1 || r.startKey != r.keys[0] || r.endKey != r.keys[0]
}

func (r *rowsQuery) wantsConflicts() bool { return r.conflicts != nil && *r.conflicts }

// appendNumberOrNull appends n, or null if it is negative, which means unknown.
func appendNumberOrNull(dst []byte, n int64) []byte {
	if n < 0 {
		return append(dst, "null"...)
	}
	return strconv.AppendInt(dst, n, 10)
}

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// quoted formats v as Erlang prints a string, for CouchDB's messages.
func quoted(v string) string {
	if v == "" {
		return "[]"
	}
	return `"` + escapes.Replace(v) + `"`
}
