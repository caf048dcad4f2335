package console

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/divandb/divan/node/console/history"
	"github.com/divandb/divan/node/console/state"
	"github.com/divandb/divan/node/console/table"
)

// maxDoors is how many other nodes a verdict names.
const maxDoors = 5

// view is what a page shows: the answer to a GET, and a stream of it.
type view func(ctx context.Context, r *http.Request) (any, error)

// Handler serves what the page shows, below a prefix such as "/_dashboard/api". Each view is answered at once, or
// streamed with ?live=1: overview, verdict, nodes, databases, shards, indexes, jobs, actors, tree, sessions, tasks,
// storage, scripts, settings, events.
// GET plots, series and conflicts are answered only. POST act does what an Action says, and POST sql runs a Statement;
// both need the token of GET token. The caller decides who may see and do this.
func (c *Console) Handler(prefix string) http.Handler { return pages{c}.handler(prefix) }

// pages serves what pages show.
type pages struct{ c *Console }

func (p pages) handler(prefix string) http.Handler {
	c, mux := p.c, http.NewServeMux()
	for name, v := range p.views() {
		mux.HandleFunc("GET "+prefix+"/"+name, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("live") != "1" {
				found, err := v(r.Context(), r)
				p.respond(w, r, found, err)
				return
			}
			if _, err := v(r.Context(), r); err != nil { // before the status is sent
				p.respond(w, r, nil, err)
				return
			}
			p.live(w, r, func(ctx context.Context) (any, error) { return v(ctx, r) })
		})
	}
	mux.HandleFunc("GET "+prefix+"/plots", func(w http.ResponseWriter, r *http.Request) {
		form := r.URL.Query()
		q, err := plotQuery(form.Get("series"), form.Get("span"), form.Get("from"))
		if err != nil {
			refuse(w, http.StatusBadRequest, err.Error()+".")
			return
		}
		answerJSON(w, r, c.Plots(r.Context(), q))
	})
	mux.HandleFunc("GET "+prefix+"/series", func(w http.ResponseWriter, r *http.Request) {
		answerJSON(w, r, history.All())
	})
	mux.HandleFunc("GET "+prefix+"/conflicts", p.conflicts)
	mux.HandleFunc("GET "+prefix+"/token", p.token)
	mux.HandleFunc("POST "+prefix+"/act", p.act)
	mux.HandleFunc("POST "+prefix+"/sql", p.sql)
	for _, name := range append(slices.Collect(maps.Keys(p.views())), "plots", "series", "conflicts", "token") {
		mux.HandleFunc(prefix+"/"+name, only("GET,HEAD"))
	}
	mux.HandleFunc(prefix+"/act", only("POST"))
	mux.HandleFunc(prefix+"/sql", only("POST"))
	mux.HandleFunc(prefix+"/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, "There is no such view.")
	})
	return mux
}

// only answers requests with other methods than those that are allowed.
func only(allowed string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Allow", allowed)
		refuse(w, http.StatusMethodNotAllowed, "Only "+allowed+" allowed")
	}
}

func (p pages) views() map[string]view {
	c := p.c
	return map[string]view{
		"overview": func(ctx context.Context, _ *http.Request) (any, error) { return c.recent(ctx), nil },
		"verdict": func(ctx context.Context, _ *http.Request) (any, error) {
			o := c.recent(ctx)
			v := state.Verdict{Now: o.Now, Node: o.Node, State: o.State, Text: o.Text,
				User: c.o.User(ctx), Others: doors(o.Nodes)}
			if v.State == "degraded" && len(o.Attention) > 0 { // the worst is the first
				v.Worst = o.Attention[0].Severity
			}
			return v, nil
		},
		"nodes": func(ctx context.Context, _ *http.Request) (any, error) {
			nodes, absent := c.Nodes(ctx)
			return map[string]any{"now": time.Now().UTC(), "nodes": nodes, "absent": absent}, nil
		},
		"tasks": func(ctx context.Context, _ *http.Request) (any, error) {
			tasks, absent := c.Tasks(ctx)
			for i := range tasks {
				tasks[i].Raw = nil
			}
			return map[string]any{"now": time.Now().UTC(), "tasks": tasks, "absent": absent}, nil
		},
		"events": func(ctx context.Context, r *http.Request) (any, error) {
			form := r.URL.Query()
			limit, err := count(form.Get("limit"))
			if err != nil {
				return nil, badRequest("`limit` must be a number")
			}
			return c.Events(ctx, EventQuery{After: form.Get("after"), Search: form.Get("search"), Limit: limit}), nil
		},
		"databases": listView(c.Databases),
		"shards":    listView(c.Shards),
		"indexes":   listView(c.Indexes),
		"jobs":      listView(c.Jobs),
		"actors":    listView(c.Actors),

		"replications": listView(func(ctx context.Context, q table.Query) (List[state.Replication], error) {
			return Replications(ctx, c, q)
		}),
		"tree": func(ctx context.Context, r *http.Request) (any, error) {
			q, err := tableQuery(r)
			if err != nil {
				return nil, err
			}
			form := r.URL.Query()
			return Tree(ctx, c, TreeQuery{q, form.Get("node"), form.Get("parent"), form.Get("id")})
		},
		"sessions": listView(c.Sessions),
		"settings": listView(c.Settings),
		"storage":  func(ctx context.Context, _ *http.Request) (any, error) { return c.Storage(ctx), nil },
		"scripts":  func(ctx context.Context, _ *http.Request) (any, error) { return c.Scripts(ctx), nil },
	}
}

// doors returns where other nodes that answer can be asked.
func doors(nodes []state.Node) []state.Door {
	list := []state.Door{}
	for _, n := range nodes {
		if n.Answers() && !n.Self && n.HTTP != "" && len(list) < maxDoors {
			list = append(list, state.Door{Name: n.Name, HTTP: n.HTTP})
		}
	}
	return list
}

// listView returns the view of a list.
func listView[T any](list func(context.Context, table.Query) (List[T], error)) view {
	return func(ctx context.Context, r *http.Request) (any, error) {
		q, err := tableQuery(r)
		if err != nil {
			return nil, err
		}
		return list(ctx, q)
	}
}

// tableQuery reads the parameters of a list.
func tableQuery(r *http.Request) (table.Query, error) {
	form := r.URL.Query()
	limit, err := count(form.Get("limit"))
	if err != nil {
		return table.Query{}, badRequest("`limit` must be a number")
	}
	desc := form.Get("desc")
	if desc != "" && desc != "true" && desc != "false" {
		return table.Query{}, badRequest("`desc` must be true or false")
	}
	return table.Query{Sort: form.Get("sort"), Desc: desc == "true", Search: form.Get("search"),
		After: form.Get("after"), Database: form.Get("database"), Limit: limit}, nil
}

// badRequest is an error of the client.
type badRequest string

func (e badRequest) Error() string { return string(e) }

// respond answers with a value or an error.
func (p pages) respond(w http.ResponseWriter, r *http.Request, v any, err error) {
	var bad badRequest
	var query table.QueryError
	switch {
	case err == nil:
		answerJSON(w, r, v)
	case errors.As(err, &bad) || errors.As(err, &query):
		refuse(w, http.StatusBadRequest, err.Error()+".")
	default:
		refuse(w, http.StatusServiceUnavailable, p.c.o.told(err))
	}
}

// plotQuery reads the parameters of GET plots.
func plotQuery(series, span, from string) (q PlotQuery, err error) {
	for name := range strings.SplitSeq(series, ",") {
		if _, ok := history.Find(name); !ok {
			return q, fmt.Errorf("`series` must be a list of names of GET series; %q is none", name)
		}
		if !slices.Contains(q.Series, name) {
			q.Series = append(q.Series, name)
		}
	}
	seconds, err := count(span)
	if err != nil || seconds > 24*3600 {
		return q, errors.New("`span` must be a number of seconds, at most 86400")
	}
	if q.Span = time.Duration(seconds) * time.Second; seconds == 0 {
		q.Span = 15 * time.Minute
	}
	if from != "" {
		if q.From, err = strconv.ParseInt(from, 10, 64); err != nil || q.From < 0 {
			return q, errors.New("`from` must be a time in seconds since 1970")
		}
	}
	return q, nil
}

// count returns a number of a request; 0 if it is absent.
func count(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	return int(n), err
}

func answerJSON(w http.ResponseWriter, r *http.Request, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		refuse(w, http.StatusInternalServerError, "The answer cannot be encoded.")
		return
	}
	head(w)
	w.Header().Set("Vary", "Accept-Encoding")
	if len(text) >= minZipped && acceptsGzip(r.Header.Get("Accept-Encoding")) {
		w.Header().Set("Content-Encoding", "gzip")
		zip := zippers.Get().(*gzip.Writer)
		defer zippers.Put(zip)
		zip.Reset(w)
		_, _ = zip.Write(text) // the browser disconnected
		_ = zip.Close()
		return
	}
	_, _ = w.Write(text)
}

// minZipped is the number of bytes from which an answer is compressed. A token is shorter: how well it is compressed
// together with something that is known tells nothing of it.
const minZipped = 1000

var zippers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// acceptsGzip reports whether the header Accept-Encoding names gzip, and does not refuse it.
func acceptsGzip(header string) bool {
	for one := range strings.SplitSeq(header, ",") {
		name, options, _ := strings.Cut(one, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			_, quality, refusable := strings.Cut(options, "=")
			return !refusable || strings.Trim(quality, "0. ") != ""
		}
	}
	return false
}

func head(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
}

// refuse answers with an error as CouchDB writes it.
func refuse(w http.ResponseWriter, status int, reason string) {
	names := map[int]string{http.StatusBadRequest: "bad_request", http.StatusForbidden: "forbidden",
		http.StatusNotFound: "not_found", http.StatusServiceUnavailable: "service_unavailable",
		http.StatusConflict: "conflict", http.StatusUnsupportedMediaType: "bad_content_type",
		http.StatusMethodNotAllowed: "method_not_allowed"}
	name := names[status]
	if name == "" {
		name = "internal_server_error"
	}
	text, err := json.Marshal(map[string]string{"error": name, "reason": reason})
	if err != nil {
		panic(err) // two strings
	}
	head(w)
	w.WriteHeader(status)
	_, _ = w.Write(text)
}
