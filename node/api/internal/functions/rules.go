package functions

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/decode"
	"github.com/divandb/divan/node/api/internal/fault"
)

// rule is one rule of a design document's rewrites: a request whose path matches from, with the method, becomes one for
// the path to. Segments ":name" stand for any one segment, and "*" at the end for the rest of the path. "*" before the
// end is a variable of that name.
type rule struct {
	from, to []string
	method   string // "*": any
	query    []variable
	formats  gjson.Result // by name of a segment: "int" or "bool"
}

// variable is a named value as JSON, from the path, the request's parameters or the rule's query.
type variable struct {
	name  string
	value string // JSON
}

// rewriteByRules rewrites the request by the first rule that matches.
func (h *Handlers) rewriteByRules(q *call.Request, list gjson.Result) error {
	rules, err := parseRules(list)
	if err != nil {
		return err
	}
	given, err := givenVariables(q.Params)
	if err != nil {
		return err
	}
	path := slices.DeleteFunc(slices.Clone(q.Path[4:]), func(segment string) bool { return segment == "" })
	for i := range rules {
		r := &rules[i]
		if r.method != "*" && r.method != q.Method {
			continue
		}
		bound, rest, ok := bind(r.from, path)
		if !ok {
			continue
		}
		slices.Reverse(bound) // of variables with the same name the last one counts
		known := append(bound, given...)
		query := r.fill(known)
		var all []variable
		for _, v := range known {
			if !has(query, v.name) {
				all = append(all, v)
			}
		}
		all = append(all, query...)
		return h.goOn(q, target(r.to, all, rest), params(all))
	}
	return fault.NotFound("missing")
}

// parseRules reads the rules. One that is wrong makes all of them useless, as in CouchDB.
func parseRules(list gjson.Result) ([]rule, error) {
	var rules []rule
	var err error
	list.ForEach(func(_, one gjson.Result) bool {
		if !one.IsObject() {
			return true
		}
		r := rule{method: "*", from: []string{"*"}, formats: decode.Member(one, "formats")}
		if m := decode.Member(one, "method"); m.Exists() {
			r.method = m.Str
		}
		if from := decode.Member(one, "from"); from.Exists() {
			if r.from, err = ruleSegments(from); err != nil {
				return false
			}
		}
		to := decode.Member(one, "to")
		if !to.Exists() {
			err = &fault.Fault{Status: http.StatusInternalServerError, Name: "error", Reason: "invalid_rewrite_target"}
			return false
		}
		if r.to, err = ruleSegments(to); err != nil {
			return false
		}
		decode.Member(one, "query").ForEach(func(name, value gjson.Result) bool {
			r.query = append(r.query, variable{name.Str, value.Raw})
			return true
		})
		rules = append(rules, r)
		return true
	})
	return rules, err
}

// ruleSegments splits the path of a rule. More than two ".." would leave the database.
func ruleSegments(path gjson.Result) ([]string, error) {
	up := 0
	out := []string{}
	for _, segment := range strings.Split(path.Str, "/") {
		if segment == ".." {
			up++
		}
		switch segment {
		case "":
		case ":*":
			out = append(out, "*")
		default:
			out = append(out, segment)
		}
	}
	if up > 2 {
		return nil, &fault.Fault{Status: http.StatusInternalServerError, Name: "insecure_rewrite_rule",
			Reason: "too many ../.. segments"}
	}
	return out, nil
}

// jsonParams are the parameters whose values are JSON.
var jsonParams = []string{"key", "keys", "startkey", "start_key", "endkey", "end_key"}

// givenVariables returns the request's parameters.
func givenVariables(params call.Params) ([]variable, error) {
	var out []variable
	for _, p := range params {
		if !slices.Contains(jsonParams, p.Name) {
			out = append(out, variable{p.Name, string(jsontext.AppendQuoted(nil, p.Value))})
			continue
		}
		v, err := decode.Text(p.Value)
		if err != nil {
			return nil, err
		}
		out = append(out, variable{p.Name, v.Raw})
	}
	return out, nil
}

// bind matches a path with the segments of a rule, and returns the values of its variables and the rest of the path.
func bind(from, path []string) (bound []variable, rest []string, ok bool) {
	for i, segment := range from {
		switch {
		case segment == "*" && i == len(from)-1:
			return bound, path[min(i, len(path)):], true
		case i >= len(path):
			return nil, nil, false
		case segment == "*":
			bound = append(bound, variable{"*", string(jsontext.AppendQuoted(nil, path[i]))})
		case strings.HasPrefix(segment, ":"):
			bound = append(bound, variable{segment[1:], string(jsontext.AppendQuoted(nil, path[i]))})
		case segment != path[i]:
			return nil, nil, false
		}
	}
	return bound, nil, len(path) == len(from)
}

func has(all []variable, name string) bool {
	return slices.ContainsFunc(all, func(v variable) bool { return v.name == name })
}

// lookUp returns the value of a variable as JSON.
func lookUp(all []variable, name string) (string, bool) {
	for _, v := range all {
		if v.name == name {
			return v.value, true
		}
	}
	return "", false
}

// fill returns the rule's query with the variables that it names, the last one first. In a list "*" is a text.
func (r *rule) fill(known []variable) []variable {
	var out []variable
	for _, v := range r.query {
		value := gjson.Parse(v.value)
		if !value.IsArray() {
			out = append(out, variable{v.name, r.replaced(value, value.Str == "*", known)})
			continue
		}
		text := []byte{'['}
		value.ForEach(func(_, item gjson.Result) bool {
			if len(text) > 1 {
				text = append(text, ',')
			}
			text = append(text, r.replaced(item, false, known)...)
			return true
		})
		out = append(out, variable{v.name, string(append(text, ']'))})
	}
	slices.Reverse(out)
	return out
}

// replaced returns the JSON of a value, or of the variable that it names.
func (r *rule) replaced(value gjson.Result, star bool, known []variable) string {
	name, isName := strings.CutPrefix(value.Str, ":")
	if value.Type != gjson.String || !isName && !star {
		return value.Raw
	}
	found, ok := lookUp(known, name)
	if !ok {
		return value.Raw
	}
	text := gjson.Parse(found)
	switch format := decode.Member(r.formats, name).Str; {
	case text.Type != gjson.String:
	case format == "int":
		if n, err := strconv.ParseInt(text.Str, 10, 64); err == nil {
			return strconv.FormatInt(n, 10)
		}
	case format == "bool" && strings.EqualFold(text.Str, "true"):
		return "true"
	case format == "bool" && strings.EqualFold(text.Str, "false"):
		return "false"
	}
	return found
}

// target returns the path to with the values of its variables, and the rest of the request's path for "*".
func target(to []string, all []variable, rest []string) []string {
	out := []string{}
	for _, segment := range to {
		switch {
		case segment == "*":
			return append(out, rest...)
		case strings.HasPrefix(segment, ":"):
			value, ok := lookUp(all, segment[1:])
			if !ok {
				value = `"undefined"`
			}
			out = append(out, joined(value))
		default:
			out = append(out, segment)
		}
	}
	return out
}

// params returns variables as parameters: JSON where that is expected, and otherwise texts. Those of the path are the
// last ones, because of parameters with the same name the last one counts.
func params(all []variable) call.Params {
	out := call.Params{}
	for _, v := range slices.Backward(all) {
		value := v.value
		if !slices.Contains(jsonParams, v.name) {
			value = joined(value)
		}
		if v.name != "*" {
			out = append(out, call.Param{Name: v.name, Value: value})
		}
	}
	return out
}

// joined returns a JSON value as text: a string, the strings of a list one after another, and other values as JSON.
func joined(value string) string {
	v := gjson.Parse(value)
	if !v.IsArray() {
		return v.String()
	}
	var text strings.Builder
	for _, item := range v.Array() {
		if item.Type != gjson.String {
			return value
		}
		text.WriteString(item.Str)
	}
	return text.String()
}
