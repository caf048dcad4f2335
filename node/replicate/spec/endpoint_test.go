package spec_test

import (
	"testing"

	"github.com/divandb/divan/node/replicate/spec"
)

// An endpoint whose credentials cannot be read is refused, instead of being used without them.
func TestDefaults_endpoint(t *testing.T) {
	for endpoint, want := range map[string]string{
		`{"url":"http://127.0.0.1:1/a"}`:                 "",
		`{"url":"http://127.0.0.1:1/a","auth":{}}`:       "",
		`{"url":"http://127.0.0.1:1/a","auth":1}`:        "auth of an endpoint must be an object",
		`{"url":"http://127.0.0.1:1/a","auth":"a:b"}`:    "auth of an endpoint must be an object",
		`{"url":"http://127.0.0.1:1/a","auth":null}`:     "auth of an endpoint must be an object",
		`{"url":"http://127.0.0.1:1/a","headers":"A:b"}`: "headers of an endpoint must be an object of strings",
		`{"url":"ftp://127.0.0.1:1/a"}`:                  "endpoint has an invalid url",
	} {
		d, got := spec.Standard(), ""
		if _, err := d.Parse([]byte(`{"source":` + endpoint + `,"target":"b"}`)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", endpoint, got, want)
		}
	}
}
