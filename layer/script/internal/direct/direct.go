// Package direct evaluates map functions without the JavaScript engine.
//
// Most map functions read a few members of the document and emit them. A direct function is one of those, parsed into
// a small tree and evaluated on the document's text: no engine values are created, which is most of what a call
// costs. It gives exactly the rows of the engine, or leaves the call to the engine if the source or a document is not
// simple enough (TestDirect in package script compares the two).
//
// The engine compiles the source in any case, so whatever is evaluated here is correct JavaScript.
//
// docs/design/direct-evaluation.md explains it.
package direct

import (
	"bytes"
	"strconv"

	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/layer/script/internal/jstext"
)

// maxBytes is the largest JSON size of a document, and of what a function emits for it: direct functions have no time
// limit.
const maxBytes = 1 << 20

// Functions are the direct functions of a program. Immutable.
type Functions struct {
	functions []*function // nil if the engine runs the function
	names     []string    // members of the document that functions read
}

// function is the body of a function.
type function struct{ body []node }

// Has reports whether function i is direct.
func (d *Functions) Has(i int) bool { return d.functions[i] != nil }

// nodeKind is the kind of a node of the tree.
type nodeKind byte

const (
	nodeLiteral  nodeKind = iota // a value
	nodeDocument                 // the document
	nodePath                     // document.name[.path...]
	nodeArray                    // [kids]
	nodeObject                   // {path[i]: kids[i]}
	nodeNot                      // !kids[0]
	nodeAnd
	nodeOr
	nodeSame    // kids[0] === kids[1]
	nodeEqual   // kids[0] == kids[1]
	nodeType    // typeof kids[0]
	nodeIsArray // Array.isArray(kids[0])
	nodeHas     // whether document.name[.path...] exists

	nodeIf // kids[0], then body, otherwise
	nodeEmit
	nodeReturn // with an emit in body, or empty
)

// node is an expression or a statement.
type node struct {
	kind            nodeKind
	value           plain    // of nodeLiteral
	name            int      // of nodePath and nodeHas: index in Functions.names
	path            []string // of these: the names after the first; of nodeObject: the members' names
	kids            []node
	body, otherwise []node
}

// plainKind is the type of a value.
type plainKind byte

const (
	plainUndefined plainKind = iota
	plainNull
	plainFalse
	plainTrue
	plainNumber
	plainString
	plainArray
	plainObject
	plainBuilt // an array or object that the function creates
)

// plain is a value: a part of the document, or of the function's source.
type plain struct {
	kind plainKind
	json []byte // as it appears in the document; for a literal, as JSON.stringify writes it
	node *node  // for plainBuilt
}

// Evaluation evaluates functions over one document after the other.
type Evaluation struct {
	d       *Functions
	doc     []byte
	members [][]byte // by index in Functions.names: the member's text, nil if absent
	indexed bool     // members are those of doc
	odd     bool     // only the engine can handle the document
	emits   []emit
	text    [2][]byte // buffers for unescaped strings
}

type emit struct{ key, value plain }

// New returns an Evaluation of functions, without a document.
func New(d *Functions) Evaluation { return Evaluation{d: d, members: make([][]byte, len(d.names))} }

// Begin switches to another document.
func (e *Evaluation) Begin(doc []byte) { e.doc, e.indexed = doc, false }

// Run evaluates function i on the document and appends its rows to rows. It returns false, with rows unchanged, if
// the engine has to run the function.
func (e *Evaluation) Run(i int, rows *jstext.Rows) bool {
	f := e.d.functions[i]
	if f == nil || !e.evaluate(f) {
		return false
	}
	from := rows.Mark()
	for _, emitted := range e.emits {
		row := jstext.Row{Function: i, Key: len(rows.Text)}
		var ok bool
		if rows.Text, ok = e.append(rows.Text, emitted.key); ok {
			row.Value = len(rows.Text)
			rows.Text, ok = e.append(rows.Text, emitted.value)
		}
		if !ok || rows.Since(from) > maxBytes {
			rows.Cut(from)
			return false
		}
		row.End = len(rows.Text)
		rows.Rows = append(rows.Rows, row)
	}
	return true
}

// evaluate runs a function on the document; false if the engine has to.
func (e *Evaluation) evaluate(f *function) bool {
	if !e.indexed {
		e.indexed, e.odd = true, len(e.doc) > maxBytes || !jsontext.Members(e.doc, maxDepth, e.d.names, e.members)
	}
	if e.odd {
		return false
	}
	e.emits = e.emits[:0]
	_, ok := e.statements(f.body)
	return ok
}

// statements runs a block; ended reports that the function has returned.
func (e *Evaluation) statements(body []node) (ended, ok bool) {
	for i := range body {
		n := &body[i]
		switch n.kind {
		case nodeIf:
			condition, ok := e.truth(&n.kids[0])
			if !ok {
				return false, false
			}
			then := n.body
			if !condition {
				then = n.otherwise
			}
			if ended, ok := e.statements(then); ended || !ok {
				return ended, ok
			}
		case nodeEmit:
			if !e.emit(n) {
				return false, false
			}
		default: // nodeReturn
			_, ok := e.statements(n.body)
			return true, ok
		}
	}
	return false, true
}

func (e *Evaluation) emit(n *node) bool {
	var row emit
	var ok bool
	for i, into := range []*plain{&row.key, &row.value} {
		if i < len(n.kids) {
			if *into, ok = e.value(&n.kids[i]); !ok {
				return false
			}
		}
	}
	e.emits = append(e.emits, row)
	return true
}

var (
	plainBools = [2]plain{{kind: plainFalse, json: []byte("false")}, {kind: plainTrue, json: []byte("true")}}
	plainTypes = func() map[plainKind]plain {
		types := map[plainKind]plain{}
		for kind, name := range map[plainKind]string{
			plainUndefined: "undefined", plainNull: "object", plainFalse: "boolean", plainTrue: "boolean",
			plainNumber: "number", plainString: "string", plainArray: "object", plainObject: "object",
			plainBuilt: "object",
		} {
			types[kind] = plain{kind: plainString, json: jsontext.AppendQuoted(nil, name)}
		}
		return types
	}()
)

func plainBool(b bool) plain {
	if b {
		return plainBools[1]
	}
	return plainBools[0]
}

// value evaluates an expression; false if the engine has to.
func (e *Evaluation) value(n *node) (plain, bool) {
	switch n.kind {
	case nodeLiteral:
		return n.value, true
	case nodeDocument:
		return plain{kind: plainObject, json: e.doc}, true
	case nodePath:
		return e.path(n)
	case nodeArray, nodeObject:
		// Only for errors that they throw; their values are looked up again when they are written.
		for i := range n.kids {
			if kid := &n.kids[i]; kid.kind > nodeDocument && (kid.kind != nodePath || len(kid.path) > 0) {
				if _, ok := e.value(kid); !ok {
					return plain{}, false
				}
			}
		}
		return plain{kind: plainBuilt, node: n}, true
	case nodeNot:
		t, ok := e.truth(&n.kids[0])
		return plainBool(!t), ok
	case nodeAnd, nodeOr:
		left, ok := e.value(&n.kids[0])
		if !ok {
			return left, false
		}
		if t, ok := left.truth(); !ok || t == (n.kind == nodeOr) {
			return left, ok
		}
		return e.value(&n.kids[1])
	case nodeSame, nodeEqual:
		a, ok := e.value(&n.kids[0])
		b, ok2 := e.value(&n.kids[1])
		if !ok || !ok2 {
			return plain{}, false
		}
		same, ok := e.equal(a, b, n.kind == nodeSame)
		return plainBool(same), ok
	case nodeIsArray:
		v, ok := e.value(&n.kids[0])
		return plainBool(v.kind == plainArray || v.kind == plainBuilt && v.node.kind == nodeArray), ok
	case nodeHas:
		v, ok := e.path(n)
		return plainBool(v.kind != plainUndefined), ok
	default: // nodeType
		v, ok := e.value(&n.kids[0])
		return plainTypes[v.kind], ok
	}
}

func (e *Evaluation) truth(n *node) (truth, ok bool) {
	v, ok := e.value(n)
	if !ok {
		return false, false
	}
	return v.truth()
}

func (v *plain) truth() (truth, ok bool) {
	switch v.kind {
	case plainUndefined, plainNull, plainFalse:
		return false, true
	case plainNumber:
		f, ok := v.number()
		return f != 0, ok
	case plainString:
		return len(v.json) > 2, true
	}
	return true, true
}

// number returns the double that a number's text means.
func (v *plain) number() (float64, bool) {
	if n, ok := jstext.SmallInt(v.json); ok {
		return float64(n), true
	}
	f, err := strconv.ParseFloat(string(v.json), 64)
	return f, err == nil
}

// path follows the names from the document. Members of values other than objects are left to the engine.
func (e *Evaluation) path(n *node) (plain, bool) {
	json := e.members[n.name]
	for _, name := range n.path {
		if json == nil || json[0] != '{' {
			return plain{}, false
		}
		var ok bool
		if json, ok = jsontext.FindMember(json, maxDepth, name); !ok {
			return plain{}, false
		}
	}
	return plainOf(json), true
}

func plainOf(json []byte) plain {
	if json == nil {
		return plain{}
	}
	v := plain{kind: plainNumber, json: json}
	switch json[0] {
	case 'n':
		v.kind = plainNull
	case 'f':
		v.kind = plainFalse
	case 't':
		v.kind = plainTrue
	case '"':
		v.kind = plainString
	case '[':
		v.kind = plainArray
	case '{':
		v.kind = plainObject
	}
	return v
}

// equal compares like ===, or like == if neither side has to be converted.
func (e *Evaluation) equal(a, b plain, strict bool) (same, ok bool) {
	switch {
	case a.kind >= plainArray && b.kind >= plainArray:
		return false, false // they may be the same object
	case a.kind == b.kind:
		switch a.kind {
		case plainNumber:
			x, ok := a.number()
			y, ok2 := b.number()
			return x == y, ok && ok2
		case plainString:
			x, ok := e.unquote(0, a.json)
			y, ok2 := e.unquote(1, b.json)
			return bytes.Equal(x, y), ok && ok2
		}
		return true, true
	case strict:
		return false, true
	case a.kind <= plainNull || b.kind <= plainNull:
		return a.kind <= plainNull && b.kind <= plainNull, true
	case a.kind <= plainTrue && b.kind <= plainTrue:
		return false, true
	}
	return false, false
}

// unquote returns a string's text, in one of two buffers.
func (e *Evaluation) unquote(buffer int, json []byte) ([]byte, bool) {
	inside := json[1 : len(json)-1]
	if bytes.IndexByte(inside, '\\') < 0 {
		return inside, true
	}
	var ok bool
	e.text[buffer], ok = jsontext.AppendUnescaped(e.text[buffer][:0], inside, jsontext.KeepHalf)
	return e.text[buffer], ok
}

// append writes a value as JSON.stringify writes an array element; false if the engine has to.
func (e *Evaluation) append(dst []byte, v plain) ([]byte, bool) {
	switch v.kind {
	case plainUndefined:
		return append(dst, "null"...), true
	case plainBuilt:
		return e.appendBuilt(dst, v.node)
	}
	return jstext.AppendCanonical(dst, v.json)
}

func (e *Evaluation) appendBuilt(dst []byte, n *node) ([]byte, bool) {
	open, end := byte('['), byte(']')
	if n.kind == nodeObject {
		open, end = '{', '}'
	}
	dst = append(dst, open)
	first := true
	for i := range n.kids {
		v, ok := e.value(&n.kids[i])
		if !ok {
			return dst, false
		}
		if n.kind == nodeObject && v.kind == plainUndefined {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		if n.kind == nodeObject {
			dst = append(jsontext.AppendQuoted(dst, n.path[i]), ':')
		}
		if dst, ok = e.append(dst, v); !ok {
			return dst, false
		}
	}
	return append(dst, end), true
}
