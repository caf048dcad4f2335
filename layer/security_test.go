package layer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/script"
)

func TestSecurity(t *testing.T) {
	root := layer.UserCtx{Name: "root", Roles: []string{"_admin"}}
	jan := layer.UserCtx{Name: "jan", Roles: []string{"dev"}}
	nobody := layer.UserCtx{}
	for _, c := range []struct {
		object        string
		u             layer.UserCtx
		member, admin bool
	}{
		{`{}`, nobody, true, false},
		{`{}`, root, true, true},
		{`{"members":{"names":[],"roles":[]}}`, nobody, true, false},
		{`{"members":{"roles":["_admin"]},"admins":{"roles":["_admin"]}}`, jan, false, false},
		{`{"members":{"roles":["_admin"]},"admins":{"roles":["_admin"]}}`, root, true, true},
		{`{"members":{"names":["jan"]}}`, jan, true, false},
		{`{"members":{"names":["jan"]}}`, nobody, false, false},
		{`{"members":{"names":[""]}}`, nobody, false, false},
		{`{"members":{"roles":["dev"]}}`, jan, true, false},
		{`{"admins":{"names":["jan"]},"members":{"names":["ann"]}}`, jan, true, true},
		{`{"admins":{"roles":["dev"]}}`, jan, true, true},
		{`{"readers":{"names":["ann"]}}`, jan, false, false},
		{`{"members":{},"readers":{"names":["ann"]}}`, jan, true, false},
		{`{"members":{"roles":["x"]},"MEMBERS":{"roles":[]}}`, jan, false, false},
		{`{"MEMBERS":{"roles":["dev"]},"members":{"roles":["x"]}}`, jan, false, false},
		{`{"members":{"roles":["x"],"ROLES":["dev"]},"ADMINS":{"names":["jan"]}}`, jan, false, false},
		{`{"members":{"roles":["dev"]},"members":{"roles":["x"]}}`, jan, false, false},
		{`{"members":{"roles":["x"],"roles":["dev"]}}`, jan, true, false},
		{`{"m\u0065mbers":{"roles":["x"]}}`, jan, false, false},
		{`{"members":{"roles":["d\u0065v"]}}`, jan, true, false},
		{`{"members":5}`, jan, false, false},
		{`{"members":5}`, root, true, true},
		{`{"members":{"names":"jan"}}`, jan, false, false},
		{`{"members":{"roles":[]},"admins":{"names":["jan",5]}}`, jan, false, false},
		{`{`, jan, false, false},
		{``, root, true, true},
	} {
		s := layer.ParseSecurity([]byte(c.object))
		if got := s.IsMember(c.u); got != c.member {
			t.Errorf("%s: %s is a member: %v", c.object, c.u.Name, got)
		}
		if got := s.IsAdmin(c.u); got != c.admin {
			t.Errorf("%s: %s is an admin: %v", c.object, c.u.Name, got)
		}
	}
}

// PUT _security accepts what CouchDB 3.5 accepts, and nothing whose meaning is ambiguous.
func TestDatabase_SetSecurity(t *testing.T) {
	d := openViews(t, layer.CreateOptions{})
	for object, ok := range map[string]bool{
		`{}`: true, `{"x":5}`: true, `{"MEMBERS":5}`: true, `{"members":{"Names":5}}`: true, `{"members":{}}`: true,
		`{"members":5,"members":{"names":["a"]}}`: true,
		`[]`: false, `5`: false, `{"members":null}`: false, `{"members":[]}`: false, `{"admins":"a"}`: false,
		`{"readers":1}`:              false,
		`{"members":{"names":null}}`: false, `{"members":{"names":"a"}}`: false, `{"members":{"names":["a",1]}}`: false,
		`{"admins":{"roles":{}}}`:      false,
		`{"m\u0065mbers":{"names":5}}`: false, `{"members":{"n\u0061mes":5}}`: false,
		`{"members":{},"members":5}`: false,
	} {
		if err := d.SetSecurity(t.Context(), []byte(object)); (err == nil) != ok {
			t.Errorf("%s: %v", object, err)
		}
	}
}

// Members of design documents are found by their exact names, and of duplicates the last one counts, as in JavaScript
// and CouchDB.
func TestParseDesign_ExactNames(t *testing.T) {
	body := `{"validate_doc_update":"function () { throw({forbidden: 'no'}) }","VALIDATE_DOC_UPDATE":"","Language":"erlang","FILTERS":{"f":"x"},` +
		`"views":{"v":{"map":"function (doc) {}","MAP":"","options":{"Collation":"raw"}}},"VIEWS":{"w":{"map":"x"}},"options":{"INTERACTIVE":true}}`
	d, err := layer.ParseDesign("_design/x", layer.Rev{}, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(d.Validate, "forbidden") || d.Language != "javascript" || d.Filters != nil ||
		d.Options.Interactive {
		t.Errorf("%+v", d)
	}
	if len(d.Views) != 1 || d.Views[0].Name != "v" || d.Views[0].Map == "" || d.Views[0].Raw {
		t.Errorf("%+v", d.Views)
	}
	d, err = layer.ParseDesign("_design/x", layer.Rev{},
		[]byte(`{"validate_doc_update":"a","validate_doc_upd\u0061te":"b"}`))
	if err != nil || d.Validate != "b" {
		t.Errorf("%+v, %v", d, err)
	}
}

// A design document with a hundred thousand tiny functions is refused before they cost anything.
func TestParseDesign_TooManyMembers(t *testing.T) {
	for member, function := range map[string]string{"views": `{"map":"function (doc) {}"}`, "filters": `"x"`,
		"updates": `"x"`} {
		var b strings.Builder
		for i := range 10_001 {
			fmt.Fprintf(&b, `,"f%d":%s`, i, function)
		}
		_, err := layer.ParseDesign("_design/x", layer.Rev{}, []byte(`{"`+member+`":{`+b.String()[1:]+`}}`))
		wantKind(t, err, layer.Invalid)
	}
}

// A member with a similar name cannot disable a validation function.
func TestValidator_ExactNames(t *testing.T) {
	sandbox := script.New(script.Options{})
	defer sandbox.Close()
	s := mustStore(t, mustEngine(t), layer.Options{Scripts: sandbox, Validator: layer.NewValidator(sandbox)})
	d := mustCreate(t, s, "a", layer.CreateOptions{})
	put(t, d,
		`{"_id":"_design/x","validate_doc_update":"function () { throw({forbidden: 'no'}) }","VALIDATE_DOC_UPDATE":"","LANGUAGE":"erlang"}`)
	_, err := d.Put(t.Context(), layer.Edit{ID: "doc", Body: []byte(`{}`)},
		layer.WriteOptions{User: &layer.UserCtx{Name: "jan"}})
	wantKind(t, err, layer.Forbidden)
}

// A validation function in another language refuses everything: documents must not pass it unseen. Users cannot write
// one, but it can come with a database that is moved, whose documents are not checked.
func TestValidator_OtherLanguage(t *testing.T) {
	sandbox := script.New(script.Options{})
	defer sandbox.Close()
	s := mustStore(t, mustEngine(t), layer.Options{Scripts: sandbox, Validator: layer.NewValidator(sandbox)})
	d := mustCreate(t, s, "a", layer.CreateOptions{})
	as := layer.WriteOptions{User: &layer.UserCtx{Name: "jan"}}
	const design = `{"_id":"_design/x","language":"erlang","validate_doc_update":"fun(_) -> ok end."}`
	_, err := d.Put(t.Context(), edit(t, design), as)
	wantKind(t, err, layer.Invalid)
	put(t, d, design)
	_, err = d.Put(t.Context(), edit(t, `{"_id":"doc"}`), as)
	wantKind(t, err, layer.FunctionFailed)
}

// Two databases may have different documents with one id and revision, because a replicator chooses both. Each database
// calls its own function.
func TestValidator_sameRevision(t *testing.T) {
	s := openViewStore(t, mustEngine(t))
	const design = `{"_id":"_design/x","_rev":"1-00000000000000000000000000000001",
		"validate_doc_update":"function () { %s }"}`
	open := mustCreate(t, s, "open", layer.CreateOptions{})
	push(t, open, fmt.Sprintf(design, ""))
	closed := mustCreate(t, s, "closed", layer.CreateOptions{})
	push(t, closed, fmt.Sprintf(design, "throw({forbidden: 'no'})"))
	as := layer.WriteOptions{User: &layer.UserCtx{Name: "jan"}}
	if _, err := open.Put(t.Context(), edit(t, `{"_id":"doc"}`), as); err != nil {
		t.Error(err)
	}
	_, err := closed.Put(t.Context(), edit(t, `{"_id":"doc"}`), as)
	wantKind(t, err, layer.Forbidden)
}
