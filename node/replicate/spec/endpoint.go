package spec

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer"
)

// Endpoint is the source or the target of a replication.
type Endpoint struct {
	// Local is the name of a database of this server. All other members are then empty.
	Local string
	// URL has no credentials. It ends with a slash, unless it has a query.
	URL            string
	HasAuth        bool // User and Password are set, perhaps to ""
	User, Password string
	Headers        []Param // in order of their names
	Proxy          string  // with credentials, or ""
}

// Shown is the endpoint as people may see it: without passwords and the values of its query.
func (e *Endpoint) Shown() string {
	if e.Local != "" {
		return e.Local
	}
	return Redact(e.URL)
}

// ShownProxy is the proxy as people may see it, or "".
func (e *Endpoint) ShownProxy() string { return Redact(e.Proxy) }

// hidden stands for a secret, as in CouchDB.
const hidden = "*****"

// Redact replaces the password of a valid URL as CouchDB does, and the values of its query, which may be secrets too.
func Redact(text string) string {
	text = withoutValues(text)
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return text
	}
	at := strings.LastIndexByte(rest, '@')
	if at < 0 {
		return text
	}
	user, _, ok := strings.Cut(rest[:at], ":")
	if !ok {
		return text
	}
	return scheme + "://" + user + ":" + hidden + "@" + rest[at+1:]
}

// withoutValues replaces what the parameters of a URL's query are set to. One that is set to nothing may itself be a
// secret.
func withoutValues(text string) string {
	before, query, ok := strings.Cut(text, "?")
	if !ok || query == "" {
		return text
	}
	params := strings.Split(query, "&")
	for i, param := range params {
		if name, _, ok := strings.Cut(param, "="); ok {
			params[i] = name + "=" + hidden
		} else {
			params[i] = hidden
		}
	}
	return before + "?" + strings.Join(params, "&")
}

// endpoint reads the member source or target.
func (d *Defaults) endpoint(v gjson.Result, proxy string) (Endpoint, error) {
	switch {
	case !v.Exists():
		return Endpoint{}, wrong("Missing replicator database")
	case v.Type == gjson.String:
		if !strings.HasPrefix(v.Str, "http://") && !strings.HasPrefix(v.Str, "https://") {
			return local(v.Str)
		}
		e := Endpoint{URL: v.Str}
		return e, d.finish(&e, proxy)
	case v.IsObject():
		address := v.Get("url")
		if address.Type != gjson.String {
			return Endpoint{}, badURL("endpoint")
		}
		if !v.Get("headers").Exists() && !v.Get("auth").Exists() && !strings.Contains(address.Str, "://") {
			return local(address.Str)
		}
		e := Endpoint{URL: address.Str}
		if err := e.readHeaders(v.Get("headers")); err != nil {
			return e, err
		}
		if auth := v.Get("auth"); auth.Exists() && !auth.IsObject() {
			return e, wrong("auth of an endpoint must be an object")
		}
		basic := v.Get("auth.basic")
		if u, p := basic.Get("username"), basic.Get("password"); u.Type == gjson.String && p.Type == gjson.String {
			e.HasAuth, e.User, e.Password = true, u.Str, p.Str
		}
		return e, d.finish(&e, proxy)
	}
	return Endpoint{}, wrong("a source or target is a URL, the name of a database, or an object with a url")
}

// local returns the endpoint of a database of this server.
func local(name string) (Endpoint, error) {
	if strings.Contains(name, "://") {
		return Endpoint{}, badURL("endpoint")
	}
	if err := layer.ValidateName(name); err != nil {
		return Endpoint{}, badURL("endpoint")
	}
	return Endpoint{Local: name}, nil
}

func (e *Endpoint) readHeaders(v gjson.Result) error {
	if v.Exists() && !v.IsObject() {
		return wrong("headers of an endpoint must be an object of strings")
	}
	var err error
	v.ForEach(func(name, value gjson.Result) bool {
		if value.Type != gjson.String || strings.ContainsAny(name.Str+value.Str, "\r\n\x00") || name.Str == "" {
			err = wrong("headers of an endpoint must be an object of strings")
			return false
		}
		e.Headers = append(e.Headers, Param{name.Str, value.Str})
		return true
	})
	slices.SortStableFunc(e.Headers, func(a, b Param) int { return strings.Compare(a.Name, b.Name) })
	return err
}

// finish takes credentials out of the URL and the headers, and checks both URLs. Like CouchDB it prefers those of auth,
// then those of the URL.
func (d *Defaults) finish(e *Endpoint, proxy string) error {
	u, err := url.Parse(e.URL)
	if err != nil || u.Host == "" || !slices.Contains(d.Protocols, u.Scheme) {
		return badURL("endpoint")
	}
	if u.User != nil {
		password, has := u.User.Password()
		if has && !e.HasAuth {
			e.HasAuth, e.User, e.Password = true, u.User.Username(), password
		}
		u.User = nil
	}
	u.Fragment = ""
	e.URL = u.String()
	if u.RawQuery == "" && !strings.HasSuffix(e.URL, "/") {
		e.URL += "/"
	}
	e.takeBasicHeader()
	if proxy == "" {
		return nil
	}
	p, err := url.Parse(proxy)
	if err != nil || p.Host == "" || !slices.Contains(d.ProxyProtocols, p.Scheme) {
		return badURL("proxy")
	}
	e.Proxy = proxy
	return nil
}

// takeBasicHeader turns a header with basic credentials into such credentials.
func (e *Endpoint) takeBasicHeader() {
	i := slices.IndexFunc(e.Headers, func(h Param) bool { return strings.EqualFold(h.Name, "Authorization") })
	if i < 0 {
		return
	}
	scheme, text, _ := strings.Cut(e.Headers[i].Value, " ")
	if !strings.EqualFold(scheme, "basic") {
		return
	}
	e.Headers = slices.Delete(e.Headers, i, i+1)
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	user, password, ok := strings.Cut(string(raw), ":")
	if err == nil && ok && !e.HasAuth {
		e.HasAuth, e.User, e.Password = true, user, password
	}
}

// WithoutSecrets returns the member source or target of a document as people who may not see its passwords get it:
// without credentials and the values of a query in the URL, and without headers and auth.
func WithoutSecrets(member []byte) []byte {
	v := gjson.ParseBytes(member)
	if v.Type == gjson.String {
		return quoted(withoutUser(v.Str))
	}
	if !v.IsObject() {
		return member
	}
	out := []byte{'{'}
	v.ForEach(func(name, value gjson.Result) bool {
		if name.Str == "headers" || name.Str == "auth" {
			return true
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(out, name.Raw...), ':')
		if name.Str == "url" && value.Type == gjson.String {
			out = append(out, quoted(withoutUser(value.Str))...)
		} else {
			out = append(out, value.Raw...)
		}
		return true
	})
	return append(out, '}')
}

// withoutUser removes credentials and the values of the query from a URL, whether it is valid or not.
func withoutUser(text string) string {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return text
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		rest = rest[at+1:]
	}
	return scheme + "://" + withoutValues(rest)
}
