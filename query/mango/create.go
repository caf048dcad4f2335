package mango

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/layer/selector"
)

// NewIndex is a request to create an index.
type NewIndex struct {
	Design, Name string // the id of the design document, and the name of its view
	// View is the view as it is stored in the design document.
	View []byte
	// Partitioned and Interactive are options of the design document; nil means that they are not given.
	Partitioned, Interactive *bool
}

// ErrNoSearch is the type of an error for indexes that CouchDB leaves to another service, which is not there.
type ErrNoSearch struct{ Service string }

func (e *ErrNoSearch) Error() string { return "required index service unavailable: " + e.Service }

// ReadNewIndex reads the body of a request to `_index`. Its member interactive, which CouchDB does not have, asks for
// an index that is written with the documents.
func ReadNewIndex(body gjson.Result) (*NewIndex, error) {
	o := readOptions(body)
	def := o.take("index")
	if !def.Exists() {
		o.fail("missing_required_key", "Missing required key: index")
	}
	kind := "json"
	if v := o.take("type"); v.Exists() {
		if kind = v.Str; v.Type != gjson.String {
			o.fail("invalid_string", "Invalid string: "+v.Raw)
		}
	}
	ix := &NewIndex{Name: o.nonEmpty("name"), Design: o.nonEmpty("ddoc")}
	w := o.integer("w", 1, 2)
	if v := o.take("partitioned"); v.Exists() {
		if !v.IsBool() {
			o.fail("invalid_partitioned_value", "Invalid value for partitioned: "+v.Raw)
		}
		is := v.Bool()
		ix.Partitioned = &is
	}
	if v := o.members["interactive"]; v.Exists() {
		is := o.boolean("interactive", false)
		ix.Interactive = &is
	}
	if err := o.end(); err != nil {
		return nil, err
	}
	switch kind {
	case "json":
	case "text", "nouveau":
		return nil, &ErrNoSearch{kind}
	default:
		return nil, refuse("invalid_index", "Invalid type for index: "+kind)
	}
	generated := ix.generate(def, w)
	if ix.Name == "" {
		ix.Name = generated
	}
	if ix.Design == "" {
		ix.Design = generated
	}
	if !strings.HasPrefix(ix.Design, "_design/") {
		ix.Design = "_design/" + ix.Design
	}
	err := ix.define(def)
	return ix, err
}

// define makes the view.
func (ix *NewIndex) define(def gjson.Result) error {
	if !def.IsObject() {
		return refuse("invalid_index", "JSON indexes must be an object, not: "+def.Raw)
	}
	o := readOptions(def)
	list := o.take("fields")
	if !list.Exists() {
		return refuse("missing_required_key", "Missing required key: fields")
	}
	fields, err := readSort(list)
	if err != nil {
		return err
	}
	b := append(ix.View, `{"map":{"fields":{`...)
	for i, f := range fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(jsontext.AppendQuoted(b, f.Field), ':')
		b = jsontext.AppendQuoted(b, f.Direction)
	}
	b = append(b, `},"partial_filter_selector":`...)
	if v := o.take("partial_filter_selector"); v.Exists() {
		filter, err := selector.Parse([]byte(v.Raw))
		if err != nil {
			return err
		}
		b = filter.Term().Append(b)
	} else {
		b = append(b, '{', '}')
	}
	b = append(b, `},"reduce":"_count","options":{"def":`...)
	ix.View = append(jsontext.AppendCompact(b, []byte(def.Raw)), '}', '}')
	if _, err := selector.ParseIndex([]byte(gjson.GetBytes(ix.View, "map").Raw)); err != nil {
		return err
	}
	return o.end()
}

// generate returns CouchDB's name for an index without one: a hash of the request in Erlang's external term format, so
// that the same request gives the same name here and there.
func (ix *NewIndex) generate(def gjson.Result, w int) string {
	t := term{131, 104, 2}
	t.json(def)
	t.list(6)
	t.tuple("ddoc").name(ix.Design)
	t.tuple("def").json(def)
	t.tuple("name").name(ix.Name)
	t.tuple("partitioned")
	switch {
	case ix.Partitioned == nil:
		t.atom("db_default")
	default:
		t.atom(strconv.FormatBool(*ix.Partitioned))
	}
	t.tuple("type").binary("json")
	t.tuple("w").integer(strconv.Itoa(w))
	t = append(t, 106)
	sum := sha1.Sum(t)
	return hex.EncodeToString(sum[:])
}

// term is a text in Erlang's external term format.
type term []byte

func (t *term) list(n int) { *t = binary.BigEndian.AppendUint32(append(*t, 108), uint32(n)) }

// tuple begins a pair with an atom.
func (t *term) tuple(atom string) *term {
	*t = append(*t, 104, 2)
	t.atom(atom)
	return t
}

func (t *term) atom(name string) {
	*t = append(binary.BigEndian.AppendUint16(append(*t, 100), uint16(len(name))), name...)
}

func (t *term) binary(text string) {
	*t = append(binary.BigEndian.AppendUint32(append(*t, 109), uint32(len(text))), text...)
}

func (t *term) name(text string) {
	if text == "" {
		t.atom("auto_name")
		return
	}
	t.binary(text)
}

func (t *term) integer(text string) {
	n, ok := new(big.Int).SetString(text, 10)
	switch {
	case !ok:
		return
	case n.IsInt64() && n.Int64() >= 0 && n.Int64() < 256:
		*t = append(*t, 97, byte(n.Int64()))
	case n.IsInt64() && n.Int64() >= math.MinInt32 && n.Int64() <= math.MaxInt32:
		*t = binary.BigEndian.AppendUint32(append(*t, 98), uint32(n.Int64()))
	default:
		digits := n.Bytes()
		sign := byte(0)
		if n.Sign() < 0 {
			sign = 1
		}
		if len(digits) < 256 {
			*t = append(*t, 110, byte(len(digits)), sign)
		} else {
			*t = append(binary.BigEndian.AppendUint32(append(*t, 111), uint32(len(digits))), sign)
		}
		for i := len(digits) - 1; i >= 0; i-- {
			*t = append(*t, digits[i])
		}
	}
}

// json appends a JSON value as CouchDB decodes it.
func (t *term) json(v gjson.Result) {
	switch {
	case v.IsObject():
		var members []gjson.Result
		v.ForEach(func(key, value gjson.Result) bool {
			members = append(members, key, value)
			return true
		})
		*t = append(*t, 104, 1)
		if len(members) > 0 {
			t.list(len(members) / 2)
		}
		for i := 0; i < len(members); i += 2 {
			*t = append(*t, 104, 2)
			t.binary(members[i].Str)
			t.json(members[i+1])
		}
		*t = append(*t, 106)
	case v.IsArray():
		t.array(v.Array())
	case v.Type == gjson.String:
		t.binary(v.Str)
	case v.Type != gjson.Number:
		t.atom(v.Raw)
	case strings.ContainsAny(v.Raw, ".eE"):
		*t = binary.BigEndian.AppendUint64(append(*t, 70), math.Float64bits(v.Num))
	default:
		t.integer(v.Raw)
	}
}

// array appends a list. Erlang writes a list of bytes as a string.
func (t *term) array(list []gjson.Result) {
	bytes := make([]byte, 0, len(list))
	for _, v := range list {
		n, err := strconv.ParseUint(v.Raw, 10, 8)
		if err != nil || len(list) > math.MaxUint16 {
			break
		}
		bytes = append(bytes, byte(n))
	}
	switch {
	case len(list) == 0:
	case len(bytes) == len(list):
		*t = append(binary.BigEndian.AppendUint16(append(*t, 107), uint16(len(bytes))), bytes...)
		return
	default:
		t.list(len(list))
		for _, v := range list {
			t.json(v)
		}
	}
	*t = append(*t, 106)
}

// Options returns the options of a design document that is made for the index, or nil for none.
func (ix *NewIndex) Options() []byte {
	var list []string
	if ix.Partitioned != nil {
		list = append(list, `"partitioned":`+strconv.FormatBool(*ix.Partitioned))
	}
	if ix.Interactive != nil {
		list = append(list, `"interactive":`+strconv.FormatBool(*ix.Interactive))
	}
	if list == nil {
		return nil
	}
	return []byte("{" + strings.Join(list, ",") + "}")
}

// SameOptions reports whether the index can be added to a design document with these options.
func (ix *NewIndex) SameOptions(options gjson.Result) bool {
	same := func(want *bool, name string) bool {
		var has *bool
		options.ForEach(func(key, v gjson.Result) bool {
			if key.Str == name && v.IsBool() {
				is := v.Bool()
				has = &is
			}
			return true
		})
		return (want == nil) == (has == nil) && (want == nil || *want == *has)
	}
	return same(ix.Partitioned, "partitioned") && (ix.Interactive == nil || same(ix.Interactive, "interactive"))
}

// ReadBulkDelete reads the body of a request to `_index/_bulk_delete`: ids of design documents.
func ReadBulkDelete(body gjson.Result) ([]string, error) {
	o := readOptions(body)
	list := o.take("docids")
	if !list.Exists() {
		o.fail("missing_required_key", "Missing required key: docids")
	}
	if !list.IsArray() {
		o.fail("invalid_bulk_docs", "Bulk Delete requires an array of non-null docids. Docids: "+list.Raw)
	}
	var ids []string
	for _, v := range list.Array() {
		if v.Type != gjson.String {
			o.fail("invalid_index_name", "Invalid index name: "+v.Raw)
		}
		_, err := readUseIndex(v)
		o.keep(err)
		ids = append(ids, v.Str)
	}
	o.integer("w", 1, 2)
	return ids, o.end()
}
