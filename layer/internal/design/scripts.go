package design

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/divandb/divan/layer/internal/cache"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/layer/script"
)

// Maps are the compiled map functions of a design document, in the order of its views. Safe for concurrent use.
type Maps interface {
	// Map runs every function over every document and calls each with the results (script.Maps.Map).
	Map(ctx context.Context, docs [][]byte, each func(doc int, result *script.Mapped) error) error
	// Within returns the same functions with a time limit per document, if that is shorter than the usual one.
	Within(limit time.Duration) Maps
}

// javascript are map functions that the sandbox runs.
type javascript struct{ *script.Maps }

func (m javascript) Within(limit time.Duration) Maps { return javascript{m.Maps.Within(limit)} }

// Compile returns the compiled map functions of a design document, in the order of its views.
func (s *State) Compile(ctx context.Context, design *Design) (Maps, error) {
	if !design.runs() {
		return nil, fault.Errf(fault.NotImplemented, "unknown_query_language", "%s", design.Language)
	}
	if design.Language != Mango && s.Scripts == nil {
		return nil, fault.Errf(fault.NotImplemented, "", "this node does not run design functions")
	}
	return s.Maps.Get(ctx, design.Signature, func() (Maps, int, error) {
		size := len(design.Lib)
		for _, v := range design.Views {
			size += len(v.Map)
		}
		if design.Language == Mango {
			maps, extra := parseIndexes(design)
			return maps, size + extra, nil
		}
		maps, err := s.Scripts.Maps(ctx, design.Lib, mapFunctions(design))
		return javascript{maps}, size, Compilation(err)
	})
}

func mapFunctions(design *Design) []script.Function {
	functions := make([]script.Function, len(design.Views))
	for i, v := range design.Views {
		functions[i] = script.Function{Name: "views." + v.Name + ".map", Source: v.Map}
	}
	return functions
}

// Compilation converts a compilation error to an error of the client.
func Compilation(err error) error {
	var c *script.CompileError
	if errors.As(err, &c) {
		return &fault.Error{Kind: fault.Invalid, Name: "compilation_error", Reason: compilationReason(c), Err: err}
	}
	return NotNow(err)
}

// NotNow converts the error of a function that did not get a processor in time to Unavailable.
func NotNow(err error) error {
	var busy *script.BusyError
	if errors.As(err, &busy) {
		return &fault.Error{Kind: fault.Unavailable, Name: "functions_busy", Reason: busy.Error(), Err: err}
	}
	return err
}

// compilationReason returns CouchDB's message for the error, with the line number.
func compilationReason(c *script.CompileError) string {
	what := "`" + c.Function + "`"
	if parts := strings.Split(c.Function, "."); len(parts) >= 3 {
		what = fmt.Sprintf("the %s function in the '%s' view", parts[len(parts)-1],
			strings.Join(parts[1:len(parts)-1], "."))
	}
	reason := fmt.Sprintf("Compilation of %s failed: %s", what, c.Message)
	if c.Line > 0 {
		reason += fmt.Sprintf(" (line %d)", c.Line)
	}
	return reason
}

// scriptValidator implements db.Validator with the sandbox.
type scriptValidator struct {
	sandbox    *script.Sandbox
	validators *cache.Cache[string, *script.Validate] // by content
}

// keptValidators limits the cached validation functions, in bytes of their design documents.
const keptValidators = 64 << 20

// NewValidator returns a Validator that runs validate_doc_update functions in the sandbox, and rejects design documents
// whose functions do not compile.
func NewValidator(sandbox *script.Sandbox) db.Validator {
	return &scriptValidator{sandbox, cache.New[string, *script.Validate](keptValidators)}
}

// checkedText has what tells an empty function from one that is not there.
type checkedText struct {
	Validate *string                    `json:"validate_doc_update"`
	Views    map[string]json.RawMessage `json:"views"`
}

// reduces reports whether a view has a reduce function, perhaps an empty one.
func (t *checkedText) reduces(view string) bool {
	var v struct {
		Reduce *string `json:"reduce"`
	}
	return jsontext.UnmarshalExact(t.Views[view], &v) == nil && v.Reduce != nil
}

// CheckDesign compiles the functions that the store will run: map, reduce and validation functions. Design documents in
// other languages are stored unchecked, unless they have a validation function: it must not be passed over in silence.
func (v *scriptValidator) CheckDesign(ctx context.Context, doc []byte) error {
	var id struct {
		ID string `json:"_id"`
	}
	if err := jsontext.UnmarshalExact(doc, &id); err != nil {
		return fault.Errf(fault.Invalid, "bad_request", "%s", err)
	}
	design, err := ParseDesign(id.ID, db.Rev{}, doc)
	if err != nil {
		return err
	}
	var text checkedText
	if err := jsontext.UnmarshalExact(doc, &text); err != nil {
		return fault.Errf(fault.Invalid, "bad_request", "%s", err)
	}
	if design.Language != javaScript {
		if text.Validate != nil {
			return otherLanguage(fault.Invalid, design.Language)
		}
		return nil
	}
	if design.Options.Interactive && design.Options.LocalSeq {
		return fault.Errf(fault.Invalid, "invalid_design_doc", "options.interactive and options.local_seq exclude "+
			"each other: a document's sequence is not known while it is written")
	}
	if len(design.Views) > 0 {
		if _, err := v.sandbox.Maps(ctx, design.Lib, mapFunctions(design)); err != nil {
			return Compilation(err)
		}
	}
	for _, view := range design.Views {
		if !text.reduces(view.Name) || strings.HasPrefix(view.Reduce, "_") {
			continue
		}
		if _, err := v.sandbox.Reduce(ctx,
			script.Function{Name: "views." + view.Name + ".reduce", Source: view.Reduce}); err != nil {
			return Compilation(err)
		}
	}
	if text.Validate != nil {
		_, err = v.sandbox.Validate(ctx, doc, script.Function{Name: "validate_doc_update", Source: design.Validate})
	}
	return Compilation(err)
}

// javaScript is the language of functions, and of design documents that name none.
const javaScript = "javascript"

// otherLanguage is the error of a validation function in another language.
func otherLanguage(kind fault.Kind, language string) error {
	return fault.Errf(kind, "unknown_query_language", "`validate_doc_update` must be a function in JavaScript, "+
		"but the language of the design document is %q", language)
}

// validation has the members of a design document that matter for validating.
type validation struct {
	Validate string `json:"validate_doc_update"`
	Language string `json:"language"`
}

// Watches reports whether the design document has a validation function. One in another language, which can only come
// with a database that is moved here, refuses everything.
func (v *scriptValidator) Watches(doc []byte) bool {
	var d validation
	return jsontext.UnmarshalExact(doc, &d) == nil && d.Validate != ""
}

// Validate runs a validation function. If it throws forbidden or unauthorized, that is the error. As in CouchDB, any
// other failure is FunctionFailed: a document that could not be validated is not written, and only the function's
// author is at fault.
func (v *scriptValidator) Validate(ctx context.Context, key string, load func() ([]byte, error),
	newDoc, oldDoc []byte, user *db.UserCtx, dbName string, security []byte) error {
	run, err := v.validators.Get(ctx, key, func() (*script.Validate, int, error) {
		design, err := load()
		if err != nil {
			return nil, 0, err
		}
		var d validation
		if err := jsontext.UnmarshalExact(design, &d); err != nil {
			return nil, 0, err
		}
		if d.Language != "" && d.Language != javaScript {
			return nil, 0, otherLanguage(fault.FunctionFailed, d.Language)
		}
		f := script.Function{Name: "validate_doc_update", Source: d.Validate}
		run, err := v.sandbox.Validate(ctx, design, f)
		return run, len(design), Compilation(err)
	})
	if err != nil {
		return err
	}
	if oldDoc == nil {
		oldDoc = []byte("null")
	}
	userCtx, err := userJSON(user, dbName)
	if err != nil {
		return err
	}
	return rejection(run.Validate(ctx, newDoc, oldDoc, userCtx, security))
}

func rejection(err error) error {
	var r *script.Rejection
	if !errors.As(err, &r) {
		return functionFailed(err)
	}
	e := &fault.Error{Kind: fault.FunctionFailed, Name: r.Name, Reason: r.Reason, JSON: r.JSON}
	if kind, ok := rejections[r.Name]; ok {
		e.Kind, e.Name = kind, "" // the kind has this name
	}
	if e.Reason == "" { // an empty reason, not the usual one
		e.Reason, e.JSON = `""`, true
	}
	return e
}

// rejections are the names of errors that functions throw and that mean the document, not the function.
var rejections = map[string]fault.Kind{
	"forbidden": fault.Forbidden, "unauthorized": fault.Unauthorized, "bad_request": fault.Invalid,
}

// functionFailed names the error as CouchDB does: by its class, if it has one.
func functionFailed(err error) error {
	var run *script.RuntimeError
	var limit *script.LimitError
	switch {
	case errors.As(err, &limit):
		return &fault.Error{Kind: fault.FunctionFailed, Name: "os_process_error", Reason: limit.Error(), Err: err}
	case errors.As(err, &run):
		e := &fault.Error{Kind: fault.FunctionFailed, Name: run.Name, Reason: run.Message, Err: err}
		if e.Name == "" {
			e.Name = "unknown_error"
		} else if run.Line > 0 {
			e.Reason = fmt.Sprintf("%s (%s line %d)", run.Message, run.Function, run.Line)
		}
		return e
	}
	return NotNow(err)
}

// userJSON returns the user as functions see it: CouchDB's userCtx.
func userJSON(u *db.UserCtx, dbName string) ([]byte, error) {
	object := struct {
		DB    string   `json:"db"`
		Name  *string  `json:"name"`
		Roles []string `json:"roles"`
	}{DB: dbName, Roles: []string{}}
	if u != nil {
		if u.Name != "" {
			object.Name = &u.Name
		}
		if u.Roles != nil {
			object.Roles = u.Roles
		}
	}
	return json.Marshal(object)
}
