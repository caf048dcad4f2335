package spec_test

import (
	"strings"
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

// A URL is shown without its password and without the values of its query, which may be secrets too. What is requested
// has them.
func TestEndpoint_Shown(t *testing.T) {
	d := spec.Standard()
	for url, want := range map[string]string{
		"http://ru:PW@h:1/x?token=SECRET":        "http://h:1/x?token=*****",
		"http://h/x/?a=SECRET&b=SE=CR;ET&mail=@": "http://h/x/?a=*****&b=*****&mail=*****",
		"http://h/x/?SECRET":                     "http://h/x/?*****",
		"http://h/x":                             "http://h/x/",
	} {
		s, err := d.Parse([]byte(`{"source":"` + url + `","target":"b","source_proxy":"http://u:PW@p:1?k=SECRET"}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Source.Shown(); got != want {
			t.Errorf("%s is shown as %s, want %s", url, got, want)
		}
		if strings.Contains(url, "SECRET") != strings.Contains(s.Source.URL, "SECRET") {
			t.Errorf("%s is requested as %s", url, s.Source.URL)
		}
		if got := s.Source.ShownProxy(); got != "http://u:*****@p:1?k=*****" {
			t.Errorf("the proxy is shown as %s", got)
		}
	}
	for member, want := range map[string]string{
		`"http://ru:PW@h/x?token=SECRET"`:         `"http://h/x?token=*****"`,
		`"http://ru:P?W@h/x?token=SECRET"`:        `"http://h/x?token=*****"`,
		`{"url":"http://h/x?t=SECRET","auth":{}}`: `{"url":"http://h/x?t=*****"}`,
		`"x"`: `"x"`,
	} {
		if got := string(spec.WithoutSecrets([]byte(member))); got != want {
			t.Errorf("%s without secrets is %s, want %s", member, got, want)
		}
	}
}
