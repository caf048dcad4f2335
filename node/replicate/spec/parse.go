package spec

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/layer/selector"
)

// Parse reads a replication from a JSON object. Members that it does not know have no effect. The error is an *Error.
func (d *Defaults) Parse(text []byte) (*Spec, error) {
	body := gjson.ParseBytes(text)
	if !body.IsObject() {
		return nil, bad("Request body must be a JSON object")
	}
	members := map[string]gjson.Result{}
	body.ForEach(func(name, value gjson.Result) bool {
		members[name.Str] = value
		return true
	})
	s := &Spec{Options: d.Options}
	r := &reader{members: members}
	r.options(s)
	r.filter(&s.Filter)
	source, target := r.proxies()
	if r.err != nil {
		return nil, r.err
	}
	if s.Cancel && s.CancelID != "" {
		return s, nil
	}
	var err error
	if s.Source, err = d.endpoint(members["source"], source); err != nil {
		return nil, err
	}
	if s.Target, err = d.endpoint(members["target"], target); err != nil {
		return nil, err
	}
	return s, s.Filter.check()
}

// reader reads members and keeps the first error.
type reader struct {
	members map[string]gjson.Result
	err     error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *reader) options(s *Spec) {
	r.boolean("cancel", &s.Cancel)
	for _, name := range []string{"_local_id", "replication_id", "id"} {
		if v := r.members[name]; v.Type == gjson.String {
			s.CancelID = strings.ReplaceAll(v.Str, " ", "+") // some clients do not escape it
		}
	}
	r.boolean("create_target", &s.CreateTarget)
	r.boolean("move", &s.Moves)
	r.boolean("winning_revs_only", &s.WinningRevsOnly)
	r.boolean("continuous", &s.Continuous)
	r.boolean("use_bulk_get", &s.UseBulkGet)
	r.boolean("use_checkpoints", &s.UseCheckpoints)
	if v := r.object("create_target_params", "a JSON object"); v.Exists() {
		s.CreateTargetParams = params(v)
	}
	if v := r.members["since_seq"]; v.Exists() {
		s.SinceSeq = json.RawMessage(v.Raw)
	}
	r.number("worker_processes", 1, 64, &s.WorkerProcesses)
	r.number("worker_batch_size", 1, 10_000, &s.WorkerBatchSize)
	r.number("http_connections", 1, 1000, &s.HTTPConnections)
	r.number("retries_per_request", 0, 1000, &s.RetriesPerRequest)
	r.millis("connection_timeout", 10*time.Millisecond, &s.ConnectionTimeout)
	r.millis("checkpoint_interval", 100*time.Millisecond, &s.CheckpointInterval)
}

func (r *reader) boolean(name string, into *bool) {
	switch v := r.members[name]; {
	case !v.Exists():
	case !v.IsBool():
		r.fail(bad("parameter `" + name + "` must be a boolean"))
	default:
		*into = v.Bool()
	}
}

func (r *reader) object(name, what string) gjson.Result {
	v := r.members[name]
	if v.Exists() && !v.IsObject() {
		r.fail(bad("parameter `" + name + "` must be " + what))
	}
	return v
}

// number reads an integer, which may be text, as in CouchDB. Values beyond the limits become the nearest limit, since
// CouchDB accepts any.
func (r *reader) number(name string, least, most int64, into *int) {
	v := r.members[name]
	if !v.Exists() {
		return
	}
	n, ok := integer(v)
	if !ok {
		r.fail(bad("parameter `" + name + "` must be an integer"))
		return
	}
	*into = int(min(max(n, least), most))
}

func (r *reader) millis(name string, least time.Duration, into *time.Duration) {
	n := int(*into / time.Millisecond)
	r.number(name, least.Milliseconds(), 24*time.Hour.Milliseconds(), &n)
	*into = time.Duration(n) * time.Millisecond
}

func integer(v gjson.Result) (int64, bool) {
	switch v.Type {
	case gjson.Number:
		return v.Int(), v.Num == math.Trunc(v.Num) && math.Abs(v.Num) < 1<<53
	case gjson.String:
		n, err := strconv.ParseInt(strings.TrimSpace(v.Str), 10, 64)
		return n, err == nil
	}
	return 0, false
}

// filter reads doc_ids, selector or filter. At most one of them may be there.
func (r *reader) filter(f *Filter) {
	f.QueryParams = json.RawMessage(`{}`)
	if v := r.object("query_params", "an object"); v.Exists() {
		f.QueryParams = json.RawMessage(v.Raw)
		f.Params = params(v)
	}
	count := 0
	if v := r.members["doc_ids"]; v.Exists() && v.Type != gjson.Null {
		count++
		f.Kind, f.IDs = DocIDs, r.ids(v)
	}
	if v := r.object("selector", "a JSON object"); v.Exists() {
		count++
		f.Kind, f.Selector = Selector, json.RawMessage(v.Raw)
	}
	if v := r.members["filter"]; v.Exists() {
		count++
		f.Kind, f.Name = Function, v.Str
		if strings.HasPrefix(v.Str, "_") {
			f.Kind = Builtin
		}
		f.Design, f.Function, _ = strings.Cut(v.Str, "/")
	}
	if count > 1 {
		r.fail(bad("`doc_ids`,`filter`,`selector` are mutually exclusive"))
	}
}

// ids reads a list of ids, which may be percent-encoded, as CouchDB has accepted them since version 1.
func (r *reader) ids(v gjson.Result) []string {
	if !v.IsArray() {
		r.fail(bad("parameter `doc_ids` must be an array"))
		return nil
	}
	list := []string{}
	v.ForEach(func(_, id gjson.Result) bool {
		if id.Type != gjson.String {
			r.fail(bad("parameter `doc_ids` must be an array of strings"))
			return false
		}
		list = append(list, unescaped(id.Str))
		return true
	})
	slices.Sort(list)
	return slices.Compact(list)
}

// escape matches a byte that is percent-encoded.
var escape = regexp.MustCompile("%[0-9A-Fa-f]{2}")

// unescaped replaces valid escapes; other percent signs stay, as in CouchDB. A plus sign stays too, although CouchDB
// takes it for a space: who has the id of a document writes it as it is.
func unescaped(id string) string {
	return escape.ReplaceAllStringFunc(id, func(e string) string {
		b, _ := hex.DecodeString(e[1:])
		return string(b)
	})
}

func (r *reader) proxies() (source, target string) {
	text := func(name string) string {
		v := r.members[name]
		if v.Exists() && v.Type != gjson.String && v.Type != gjson.Null {
			r.fail(wrong("Invalid proxy url"))
		}
		return v.Str
	}
	both, source, target := text("proxy"), text("source_proxy"), text("target_proxy")
	switch {
	case both == "":
		return source, target
	case source != "":
		r.fail(bad("`proxy` is mutually exclusive with `source_proxy`"))
	case target != "":
		r.fail(bad("`proxy` is mutually exclusive with `target_proxy`"))
	}
	return both, both
}

// check finds what is wrong with a filter.
func (f *Filter) check() error {
	switch f.Kind {
	case Selector:
		if _, err := selector.Parse(f.Selector); err != nil {
			return bad("Selector error: " + err.Error())
		}
	case Builtin:
		if f.Name != "_view" {
			return nil
		}
		i := slices.IndexFunc(f.Params, func(p Param) bool { return p.Name == "view" })
		if i < 0 || strings.Count(f.Params[i].Value, "/") != 1 {
			return bad("Invalid `view` parameter.")
		}
	case Function:
		if !strings.Contains(f.Name, "/") {
			return wrong("Invalid filter. Must match `ddocname/filtername`.")
		}
	}
	return nil
}

// params returns an object's members as text: strings as they are, other values as JSON.
func params(v gjson.Result) (list []Param) {
	v.ForEach(func(name, value gjson.Result) bool {
		text := value.Raw
		if value.Type == gjson.String {
			text = value.Str
		}
		list = append(list, Param{name.Str, text})
		return true
	})
	return list
}

func quoted(s string) []byte { return jsontext.AppendQuoted(nil, s) }
