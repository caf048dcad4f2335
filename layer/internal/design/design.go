package design

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/layer/reduce"
	"github.com/divandb/divan/layer/rowshape"
	"github.com/divandb/divan/layer/selector"
)

// Design is a parsed design document.
type Design struct {
	ID       string // including "_design/"
	Rev      db.Rev
	Language string
	// Signature is the hex MD5 of views, options and language. It identifies the index in the store: design documents
	// with the same signature share one index (V1).
	Signature string
	// Views, sorted by name. The index of a view is its view id.
	Views    []ViewDef
	Options  Options
	Filters  map[string]string
	Validate string
	// Partitioned reports that the index keeps the rows of each partition together, and is queried for one partition at
	// a time. It is set in partitioned databases unless options.partitioned is false. ParseDesign does not know the
	// database and leaves it false.
	Partitioned bool
	// Lib is views.lib as JSON: the modules that map functions may require. It is nil if there is none.
	Lib json.RawMessage
	// SQL is the member "sql" as JSON, whatever it is. It declares relations for queries in SQL, and does not matter to
	// the index. It is nil if there is none.
	SQL json.RawMessage

	MapTime atomic.Int64 // time in nanoseconds that map functions recently took for a document

	shapes  sync.Once
	shaped  []*rowshape.Shape // set by shapes
	indexes sync.Once
	indexed []*selector.Index // set by indexes
}

// SlowMap is the time for mapping a document above which mapping should not be repeated for each query.
const SlowMap = 100 * time.Microsecond

// Slow reports whether mapping a document recently took longer than SlowMap.
func (d *Design) Slow() bool { return time.Duration(d.MapTime.Load()) > SlowMap }

// Mango is the language of design documents whose views are Mango indexes.
const Mango = "query"

// ViewDef is one view of a design document.
type ViewDef struct {
	// Map is the source of the map function, or the definition of a Mango index as JSON.
	Name, Map, Reduce string
	// Raw reports that keys sort in Erlang's term order instead of CouchDB's usual order: options.collation of the
	// view, as CouchDB documents it, or of the whole design document is "raw".
	Raw bool
}

// Options are the members of "options" that affect an index.
type Options struct {
	Interactive   bool  `json:"interactive"`
	LocalSeq      bool  `json:"local_seq"`
	IncludeDesign bool  `json:"include_design"`
	Partitioned   *bool `json:"partitioned"`
	// Collation is "raw"; any other value means CouchDB's order.
	Collation string `json:"collation"`
}

// designText is the JSON form of a design document.
type designText struct {
	Language string                     `json:"language"`
	Views    map[string]json.RawMessage `json:"views"`
	Options  json.RawMessage            `json:"options"`
	Filters  map[string]json.RawMessage `json:"filters"`
	Validate string                     `json:"validate_doc_update"`
	SQL      json.RawMessage            `json:"sql"`
}

// ParseDesign parses a design document's body. It returns Invalid (invalid_design_doc) if CouchDB would reject a
// member's type. It does not compile functions.
func ParseDesign(id string, rev db.Rev, body []byte) (*Design, error) {
	if err := checkDesignMembers(body); err != nil {
		return nil, err
	}
	var text designText
	if err := jsontext.UnmarshalExact(body, &text); err != nil {
		return nil, &fault.Error{Kind: fault.Invalid, Name: "invalid_design_doc",
			Reason: "design document must be an object", Err: err}
	}
	d := &Design{ID: id, Rev: rev, Language: text.Language, Validate: text.Validate, SQL: text.SQL}
	if text.Filters != nil {
		d.Filters = map[string]string{}
	}
	for name, source := range text.Filters {
		var f string
		if json.Unmarshal(source, &f) == nil {
			d.Filters[name] = f
		}
	}
	if d.Language == "" {
		d.Language = "javascript"
	}
	if err := d.parseOptions(text.Options); err != nil {
		return nil, err
	}
	for name, raw := range text.Views {
		if name == "lib" {
			d.Lib = raw
			continue
		}
		v, err := parseView(d.Language, name, raw)
		if err != nil {
			return nil, err
		}
		v.Raw = v.Raw || d.Options.Collation == "raw"
		d.Views = append(d.Views, v)
	}
	slices.SortFunc(d.Views, func(a, b ViewDef) int { return strings.Compare(a.Name, b.Name) })
	d.Signature = d.sign()
	return d, nil
}

// parseOptions accepts the object that CouchDB documents, and the list of objects in rfc-008's example.
func (d *Design) parseOptions(raw json.RawMessage) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	objects := []json.RawMessage{raw}
	if raw[0] == '[' {
		if err := json.Unmarshal(raw, &objects); err != nil {
			return fault.Errf(fault.Invalid, "invalid_design_doc", "`options` field must have object type")
		}
	}
	for _, o := range objects {
		if err := jsontext.UnmarshalExact(o, &d.Options); err != nil {
			return fault.Errf(fault.Invalid, "invalid_design_doc",
				"`options` field must have an object value with known types")
		}
	}
	return nil
}

func parseView(language, name string, raw json.RawMessage) (ViewDef, error) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return ViewDef{}, fault.Errf(fault.Invalid, "invalid_design_doc", "`views.%s` field must have object type",
			name)
	}
	v := ViewDef{Name: name}
	texts := map[string]*string{"map": &v.Map, "reduce": &v.Reduce}
	if text, ok := members["map"]; ok && language == Mango {
		if text[0] != '{' {
			return ViewDef{}, fault.Errf(fault.Invalid, "invalid_design_doc",
				"`views.%s.map` field must have object type", name)
		}
		v.Map = string(jsontext.AppendCompact(nil, text))
		delete(texts, "map")
	}
	for member, into := range texts {
		text, ok := members[member]
		if ok && (string(text) == "null" || json.Unmarshal(text, into) != nil) {
			return ViewDef{}, fault.Errf(fault.Invalid, "invalid_design_doc",
				"`views.%s.%s` field must have string type", name, member)
		}
	}
	if _, ok := members["map"]; !ok {
		return ViewDef{}, fault.Errf(fault.Invalid, "invalid_design_doc", "View `%s` must contain map function", name)
	}
	var options Options
	if text, ok := members["options"]; ok && jsontext.UnmarshalExact(text, &options) != nil {
		return ViewDef{}, fault.Errf(fault.Invalid, "invalid_design_doc",
			"`views.%s.options` field must have object type", name)
	}
	v.Raw = options.Collation == "raw"
	if strings.HasPrefix(v.Reduce, "_") && reduce.New(v.Reduce) == nil {
		return ViewDef{}, fault.Errf(fault.Invalid, "invalid_design_doc", "%s", reduce.CheckName(v.Reduce))
	}
	return v, nil
}

// sign hashes everything that determines the rows of the index. As in CouchDB, this includes reduce functions.
func (d *Design) sign() string {
	text, err := json.Marshal(struct {
		Language string
		Options  Options
		Views    []ViewDef
		Lib      json.RawMessage
		// Omitted in other databases, so that their signatures are as before there were partitions.
		Partitioned bool `json:",omitempty"`
	}{d.Language, d.Options, d.Views, d.Lib, d.Partitioned})
	if err != nil {
		panic(err) // cannot happen: Lib has been parsed
	}
	sum := md5.Sum(text)
	return hex.EncodeToString(sum[:])
}

// View finds a view by name.
func (d *Design) View(name string) (id int, v ViewDef, ok bool) {
	i, ok := slices.BinarySearchFunc(d.Views, name, func(v ViewDef, name string) int {
		return strings.Compare(v.Name, name)
	})
	if !ok {
		return 0, ViewDef{}, false
	}
	return i, d.Views[i], true
}

// Interactive reports whether the index is updated by the transactions that write documents. This excludes designs that
// map local_seq, because the sequence is not known before the transaction commits.
func (d *Design) Interactive() bool {
	return d.Options.Interactive && !d.Options.LocalSeq && len(d.Views) > 0 && d.runs()
}

// runs reports whether the language of the map functions is known.
func (d *Design) runs() bool { return d.Language == "javascript" || d.Language == Mango }

// inPartitionedDatabase sets Partitioned. The index then has another layout, and so another signature.
func (d *Design) inPartitionedDatabase() {
	d.Partitioned = d.Options.Partitioned == nil || *d.Options.Partitioned
	d.Signature = d.sign()
}
