package auth

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/divandb/divan/layer"
)

// MaxLogin is the maximum size of the body of POST /_session, in bytes.
const MaxLogin = 64 << 10

// The content types of that body.
const (
	typeForm = "application/x-www-form-urlencoded"
	typeJSON = "application/json"
)

func badRequest(reason string) error {
	return &layer.Error{Kind: layer.Invalid, Name: "bad_request", Reason: reason}
}

// ServeSession answers /_session for u, who made the request: GET returns the user, POST logs in, DELETE logs out. It
// does not write an error to w, except for headers. The error's Name is CouchDB's: unauthorized, bad_request,
// bad_content_type, method_not_allowed.
func (a *Authenticator) ServeSession(w http.ResponseWriter, r *http.Request, u UserCtx) error {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		return a.showSession(w, r, u)
	case http.MethodPost:
		if err := checkTargets(r, "next", "fail"); err != nil {
			return err
		}
		return a.startSession(w, r)
	case http.MethodDelete:
		if err := checkTargets(r, "next"); err != nil {
			return err
		}
		a.cookies().clear(w.Header(), r)
		return answer(w, r, "next", map[string]any{"ok": true})
	}
	w.Header().Set("Allow", "GET,HEAD,POST,DELETE")
	return &layer.Error{Kind: layer.Invalid, Name: "method_not_allowed", Reason: "Only GET,HEAD,POST,DELETE allowed"}
}

// sessionInfo is the response to GET /_session, with its members in CouchDB's order.
type sessionInfo struct {
	OK   bool        `json:"ok"`
	User sessionUser `json:"userCtx"`
	Info struct {
		Handlers      []string `json:"authentication_handlers"`
		Authenticated string   `json:"authenticated,omitempty"`
		Database      string   `json:"authentication_db,omitempty"` // if it is not _users
	} `json:"info"`
}

type sessionUser struct {
	Name  *string  `json:"name"` // null for anonymous
	Roles []string `json:"roles"`
}

func (a *Authenticator) showSession(w http.ResponseWriter, r *http.Request, u UserCtx) error {
	if u.Name == "" {
		if err := a.passedOver(r); err != nil {
			if errors.Is(err, errForged) {
				a.cookies().clear(w.Header(), r) // the browser's next request will be anonymous
			}
			return err
		}
	}
	if u.Name == "" && r.URL.Query().Get("basic") == "true" {
		return &layer.Error{Kind: layer.Unauthorized, Name: "unauthorized", Reason: "Please login."}
	}
	var s sessionInfo
	s.OK = true
	s.User.Roles = u.Roles
	if u.Name != "" {
		s.User.Name = &u.Name
	}
	rules := a.rules.Load()
	s.Info.Handlers = rules.Handlers
	s.Info.Authenticated = u.Handler
	if rules.Database != UsersDatabase {
		s.Info.Database = rules.Database
	}
	return writeJSON(w, http.StatusOK, s)
}

func (a *Authenticator) startSession(w http.ResponseWriter, r *http.Request) error {
	name, password, err := loginForm(w, r)
	if err != nil {
		return err
	}
	acc, err := a.login(r.Context(), a.proxies.clientAddr(r), name, password)
	if errors.Is(err, errWrongPassword) {
		a.cookies().clear(w.Header(), r)
		if target := r.URL.Query().Get("fail"); target != "" {
			return redirect(w, r, target, struct {
				Error  string `json:"error"`
				Reason string `json:"reason"`
			}{errWrongPassword.Name, errWrongPassword.Reason})
		}
	}
	if err != nil {
		return err
	}
	a.cookies().set(w.Header(), r, acc)
	return answer(w, r, "next", struct {
		OK    bool     `json:"ok"`
		Name  string   `json:"name"`
		Roles []string `json:"roles"`
	}{true, acc.name, acc.roles})
}

// loginForm reads name (or username) and password from a form or a JSON object.
func loginForm(w http.ResponseWriter, r *http.Request) (name, password string, err error) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != typeForm && kind != typeJSON { // checked before the body is read
		return "", "", &layer.Error{Kind: layer.Invalid, Name: "bad_content_type",
			Reason: "Content-Type must be 'application/x-www-form-urlencoded' or 'application/json'"}
	}
	body, err := loginBody(w, r)
	if err != nil {
		return "", "", err
	}
	fields := map[string]string{}
	switch kind {
	case typeForm:
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return "", "", badRequest("the request body is not a form")
		}
		for k := range form {
			fields[k] = form.Get(k)
		}
	case typeJSON:
		if fields, err = loginMembers(body); err != nil {
			return "", "", err
		}
	}
	name, hasName := fields["name"]
	username, hasUsername := fields["username"]
	switch {
	case !hasName && !hasUsername:
		return "", "", badRequest("request body must contain a username")
	case hasName && hasUsername && name != username:
		return "", "", badRequest("request body contains different usernames")
	case hasUsername:
		name = username
	}
	return name, fields["password"], nil
}

// loginMembers returns those members of a JSON object by which somebody logs in.
func loginMembers(body []byte) (map[string]string, error) {
	if !json.Valid(body) {
		return nil, badRequest("invalid UTF-8 JSON")
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil || object == nil {
		return nil, badRequest("request body must be a JSON object")
	}
	fields := map[string]string{}
	for _, name := range []string{"name", "username", "password"} {
		member, ok := object[name]
		if !ok {
			continue
		}
		var text *string
		if json.Unmarshal(member, &text) != nil || text == nil {
			return nil, badRequest(name + " must be a string")
		}
		fields[name] = *text
	}
	return fields, nil
}

var errLoginTooLarge = &layer.Error{Kind: layer.TooLarge, Name: "too_large", Reason: "the request entity is too large"}

// loginBody reads the body, which some clients compress.
func loginBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	encoding := strings.ToLower(r.Header.Get("Content-Encoding"))
	if !slices.Contains([]string{"", "identity", "gzip"}, encoding) {
		return nil, &layer.Error{Kind: layer.Invalid, Name: "bad_content_type",
			Reason: encoding + " is not a supported content encoding."}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxLogin))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, errLoginTooLarge
	}
	if err != nil || encoding != "gzip" {
		return body, err
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, badRequest("Request body is not properly gzipped.")
	}
	body, err = io.ReadAll(io.LimitReader(unzipped, MaxLogin+1))
	switch {
	case err != nil:
		return nil, badRequest("Request body is not properly gzipped.")
	case len(body) > MaxLogin:
		return nil, errLoginTooLarge
	}
	return body, nil
}

// answer writes v, and redirects if the query has a target.
func answer(w http.ResponseWriter, r *http.Request, param string, v any) error {
	if target := r.URL.Query().Get(param); target != "" {
		return redirect(w, r, target, v)
	}
	return writeJSON(w, http.StatusOK, v)
}

// redirect redirects to a path on this server that checkTargets has allowed, with the answer for who does not follow.
func redirect(w http.ResponseWriter, r *http.Request, target string, v any) error {
	to, err := localTarget(target)
	if err != nil {
		return err
	}
	scheme, host := "http", r.Host
	if r.TLS != nil || r.Header.Get("X-Forwarded-Ssl") == "on" || r.Header.Get("X-Forwarded-Proto") == "https" {
		scheme = "https"
	}
	if forwarded := r.Header.Get("X-Forwarded-Host"); forwarded != "" {
		host = forwarded
	}
	w.Header().Set("Location", scheme+"://"+host+to)
	return writeJSON(w, http.StatusFound, v)
}

// checkTargets refuses a request with redirects to other servers, before anything else is done.
func checkTargets(r *http.Request, params ...string) error {
	query := r.URL.Query()
	for _, p := range params {
		if target := query.Get(p); target != "" {
			if _, err := localTarget(target); err != nil {
				return err
			}
		}
	}
	return nil
}

// localTarget returns a path on this server in the form for a Location header. Anything else would turn the login into
// an open redirect: browsers take a second slash for the beginning of a host, a backslash for a slash, and drop control
// characters before they look.
func localTarget(target string) (string, error) {
	control := func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' || r == utf8.RuneError }
	if !strings.HasPrefix(target, "/") || strings.HasPrefix(target, "//") || strings.ContainsFunc(target, control) {
		return "", badRequest("path must begin with a /.") // CouchDB's message
	}
	to, err := url.Parse(target)
	if err != nil || to.Scheme != "" || to.Host != "" || to.User != nil || to.Opaque != "" ||
		!strings.HasPrefix(to.Path, "/") || strings.HasPrefix(to.Path, "//") {
		return "", badRequest("path must begin with a /.")
	}
	return to.String(), nil // escaped
}

func writeJSON(w http.ResponseWriter, status int, v any) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "must-revalidate")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // fails only if the client disconnects
	return nil
}
