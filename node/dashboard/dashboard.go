// Package dashboard is the operator's page: cluster members, actors and their failures, index builds, jobs, changes
// feeds, SQL sessions (clause N3). It is one self-contained page that fetches its data every two seconds and loads
// nothing from other hosts. The caller decides who may see it.
package dashboard

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed" // the page's parts
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string
)

// Source returns one section of the data, as a value that encodes to JSON. It is called concurrently and should return
// within a second. ctx ends after sourceTimeout.
type Source func(ctx context.Context) (any, error)

// Sources are the sections of the page. A nil section is left out.
type Sources struct {
	// Node describes this node: {"name", "version", "engine", "started" (RFC 3339)}. Further members are shown too.
	Node Source
	// Store returns anything, or an error if the store does not answer.
	Store Source
	// Health returns why the node needs an operator although it serves requests: ["name: what is wrong and what to
	// do"].
	Health Source
	// Members returns the list of GET /_members.
	Members Source
	// Actors returns the response to GET /_actors.
	Actors Source
	// Tasks returns the list of GET /_active_tasks.
	Tasks Source
	// Jobs returns the job queue: [{"type", "id", "state", "worker", "failures", "error", "updated"}].
	Jobs Source
	// Compaction returns {"auto", "runs", "failures", "bodies", "body_bytes", "attachment_bytes", "seconds",
	// "last_error", "last_error_at", "last_error_database", "queue", "waiting", "databases": [{"database", "bodies",
	// "bytes", "oldest_seconds", "asked"}]}.
	Compaction Source
	// Shards returns the watched changes shards: [{"database", "shard", "state", "seq", "listeners", "wakes",
	// "error"}].
	Shards Source
	// Indexes returns [{"database", "design", "views", "rows", "bytes", "errors", "skipped", "building", "current",
	// "seq", "last_seq"}].
	Indexes Source
	// Counts returns how many shards and indexes there are, since their sections may list fewer: {"shards", "indexes"}.
	Counts Source
	// Scripts returns the use of design documents' functions: {"runtimes", "idle", "most", "running", "paused",
	// "waiting", "limits": {LIMIT: n}, "stopped", "refused", "databases": [{"database", "seconds", "waiting"}]}.
	Scripts Source
	// Sessions returns SQL sessions: [{"pid", "user", "database", "application", "state", "query", "since", "rows"}].
	Sessions Source
}

const sourceTimeout = 2 * time.Second

// Handler serves the page at GET /_dashboard/ and its data at GET /_dashboard/data: an object with one member for each
// section, whose value is {"error": TEXT} if the section could not be read. Other paths below /_dashboard/ are 404.
func Handler(s Sources) http.Handler {
	page, policy := assemble()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /_dashboard/{$}", func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		h.Set("Content-Length", strconv.Itoa(len(page)))
		_, _ = w.Write(page) // the browser disconnected
	})
	mux.HandleFunc("GET /_dashboard/data", func(w http.ResponseWriter, r *http.Request) {
		b, err := json.Marshal(s.read(r.Context()))
		if err != nil {
			http.Error(w, "the data cannot be encoded", http.StatusInternalServerError)
			return
		}
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		_, _ = w.Write(b)
	})
	mux.HandleFunc("GET /_dashboard", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/_dashboard/", http.StatusMovedPermanently)
	})
	return mux
}

// assemble puts the style and the script into the page, and returns a policy that allows a browser to run only these.
func assemble() (page []byte, policy string) {
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	page = []byte(strings.NewReplacer("/*style*/", pageCSS, "/*script*/", pageJS).Replace(pageHTML))
	policy = fmt.Sprintf("default-src 'none'; style-src %s; script-src %s; connect-src 'self'; img-src data:; "+
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
		hash(pageCSS), hash(pageJS))
	return page, policy
}

// read reads all sources concurrently. One that fails or is slow affects only its own section.
func (s Sources) read(ctx context.Context) map[string]any {
	sources := map[string]Source{"node": s.Node, "store": s.Store, "health": s.Health, "members": s.Members,
		"actors": s.Actors, "tasks": s.Tasks, "jobs": s.Jobs,
		"compaction": s.Compaction,
		"shards":     s.Shards, "indexes": s.Indexes, "counts": s.Counts, "scripts": s.Scripts, "sessions": s.Sessions}
	ctx, cancel := context.WithTimeout(ctx, sourceTimeout)
	defer cancel()
	var mu sync.Mutex
	var reading sync.WaitGroup
	sections := map[string]any{"now": time.Now().UTC()}
	for name, source := range sources {
		if source == nil {
			continue
		}
		reading.Go(func() {
			value := section(ctx, source)
			mu.Lock()
			defer mu.Unlock()
			sections[name] = value
		})
	}
	reading.Wait()
	return sections
}

// section returns a source's value as JSON. Each is encoded separately, so that a value that cannot be encoded affects
// only its section.
func section(ctx context.Context, source Source) (value any) {
	failed := func(err any) any { return map[string]string{"error": fmt.Sprint(err)} }
	defer func() {
		if p := recover(); p != nil {
			value = failed(p)
		}
	}()
	v, err := source(ctx)
	if err != nil {
		return failed(err)
	}
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(v); err != nil {
		return failed(err)
	}
	return json.RawMessage(b.Bytes())
}
