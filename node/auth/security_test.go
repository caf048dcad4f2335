package auth_test

import (
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/auth"
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
	} {
		s, err := auth.ParseSecurity([]byte(c.object))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.IsMember(c.u); got != c.member {
			t.Errorf("%s: %s is a member: %v", c.object, c.u.Name, got)
		}
		if got := s.IsAdmin(c.u); got != c.admin {
			t.Errorf("%s: %s is an admin: %v", c.object, c.u.Name, got)
		}
	}
	if _, err := auth.ParseSecurity([]byte(`{"members":1}`)); err == nil {
		t.Error("a malformed object was taken")
	}
}
