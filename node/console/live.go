package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sort"
	"time"
)

const (
	// refresh is how often a page is told what has changed, and stillEvery how often its user is checked again.
	// streamFor bounds a stream: the browser opens another one. maxStreams bounds the streams of a node.
	refresh    = 2 * time.Second
	stillEvery = 10 * time.Second
	streamFor  = 5 * time.Minute
	maxStreams = 64
)

// live streams a view as server-sent events: first the event "state" with all of it, then the event "diff" with what
// has changed: a list of [path, value], where a path is a list of names and indexes. A pair without value removes a
// member.
func (p pages) live(w http.ResponseWriter, r *http.Request, view func(context.Context) (any, error)) {
	select {
	case p.c.streams <- struct{}{}:
		defer func() { <-p.c.streams }()
	default:
		refuse(w, http.StatusServiceUnavailable, "Too many pages are open; this one can ask every few seconds.")
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // for a proxy that would wait for the end
	flush := http.NewResponseController(w)
	end := time.NewTimer(streamFor)
	defer end.Stop()
	tick := time.NewTicker(refresh)
	defer tick.Stop()
	check := time.NewTicker(stillEvery)
	defer check.Stop()
	var before any
	first := true
	for {
		after, err := plain(r.Context(), view)
		switch {
		case err != nil:
			err = event(w, "trouble", p.c.o.told(err))
			before, first = nil, true
		case first:
			err = event(w, "state", after)
			before, first = after, false
		default:
			if changes := diff(nil, before, after, [][]any{}); len(changes) > 0 {
				err = event(w, "diff", changes)
			} else {
				_, err = w.Write([]byte(":\n\n")) // so that a page notices that the node is gone
			}
			before = after
		}
		if err == nil {
			err = flush.Flush()
		}
		if err != nil && !errors.Is(err, http.ErrNotSupported) {
			return // the browser has left
		}
		select {
		case <-tick.C:
		case <-check.C:
			if !p.c.o.Still(r) {
				return
			}
		case <-end.C:
			return
		case <-r.Context().Done():
			return
		case <-p.c.closing:
			return
		}
	}
}

// plain returns a view as values of encoding/json.
func plain(ctx context.Context, view func(context.Context) (any, error)) (any, error) {
	v, err := view(ctx)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	var out any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return out, d.Decode(&out)
}

func event(w http.ResponseWriter, name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("console: %w", err)
	}
	_, err = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, text)
	return err
}

// diff appends the changes from one value to another to list.
func diff(path []any, before, after any, list [][]any) [][]any {
	switch a := after.(type) {
	case map[string]any:
		if b, ok := before.(map[string]any); ok {
			names := make([]string, 0, len(a)+len(b))
			for name := range a {
				names = append(names, name)
			}
			for name := range b {
				if _, stays := a[name]; !stays {
					names = append(names, name)
				}
			}
			sort.Strings(names)
			for _, name := range names {
				inner := append(slices.Clip(path), name)
				v, stays := a[name]
				old, was := b[name]
				switch {
				case !stays:
					list = append(list, []any{inner})
				case !was:
					list = append(list, []any{inner, v})
				default:
					list = diff(inner, old, v, list)
				}
			}
			return list
		}
	case []any:
		if b, ok := before.([]any); ok && len(a) == len(b) {
			for i := range a {
				list = diff(append(slices.Clip(path), i), b[i], a[i], list)
			}
			return list
		}
	default:
		if before == after { // strings, numbers, true, false and null
			return list
		}
	}
	if path == nil {
		path = []any{}
	}
	return append(list, []any{path, after})
}
