package couch

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/node/replicate/spec"
)

// Feed says which changes to read.
type Feed struct {
	Since      json.RawMessage // nil: from the beginning
	Continuous bool
	Winners    bool // only winners, not all leaves
	Filter     *spec.Filter
	Shard      string // "": all
}

// Change is a row of a feed.
type Change struct {
	Seq     json.RawMessage
	ID      string
	Revs    []string
	Deleted bool
}

// ErrResharded ends the feed of a shard that has been replaced.
var ErrResharded = errors.New("couch: the shards of the source have changed")

// Changes reads a feed and calls row for each change, and idle if a continuous feed may wait from now on. It returns
// the sequence from which the next feed continues, or nil if the server did not tell. It is not repeated after errors,
// since the caller knows how far it came. An error of row ends it.
func (d *Database) Changes(ctx context.Context, f Feed, row func(*Change) error) (last json.RawMessage, err error) {
	c := d.feedCall(&f)
	err = d.stream(ctx, c, func(r *answer) error {
		p := feedParser{in: bufio.NewReaderSize(r.body, 64<<10), row: row}
		if f.Continuous {
			err = p.lines()
		} else {
			err = p.list()
		}
		last = p.last
		if err == nil && p.moved {
			return &consumerError{ErrResharded}
		}
		return err
	})
	return last, err
}

func (d *Database) feedCall(f *Feed) call {
	query := url.Values{"feed": {"normal"}, "style": {"all_docs"}, "since": {SeqText(f.Since)},
		"timeout": {strconv.FormatInt(max(time.Second, d.o.Timeout/3).Milliseconds(), 10)}}
	if f.Continuous {
		query.Set("feed", "continuous")
	}
	if f.Winners {
		query.Set("style", "main_only")
	}
	c := call{method: http.MethodGet, path: "_changes", query: query, once: true}
	if f.Shard != "" {
		c.path += "/" + url.PathEscape(f.Shard)
	}
	switch f.Filter.Kind {
	case spec.DocIDs:
		query.Set("filter", "_doc_ids")
		c.method = http.MethodPost
		c.body = append(jsontext.AppendStrings([]byte(`{"doc_ids":`), f.Filter.IDs), '}')
	case spec.Selector:
		query.Set("filter", "_selector")
		c.method = http.MethodPost
		c.body = append(append([]byte(`{"selector":`), f.Filter.Selector...), '}')
	case spec.Builtin, spec.Function:
		query.Set("filter", f.Filter.Name)
		for _, p := range f.Filter.Params {
			if !query.Has(p.Name) {
				query.Set(p.Name, p.Value)
			}
		}
	}
	return c
}

// Shards returns the shards of the feed after a sequence. It returns nil if they have been replaced since then.
func (d *Database) Shards(ctx context.Context, since json.RawMessage) ([]string, error) {
	var answer struct {
		Maps []struct {
			Shards    []string `json:"shards"`
			Tombstone bool     `json:"tombstone"`
		} `json:"maps"`
	}
	query := url.Values{"since": {SeqText(since)}}
	err := d.json(ctx, call{method: http.MethodGet, path: "_changes/_meta", query: query}, &answer)
	if err != nil || len(answer.Maps) != 1 || slices.Contains(answer.Maps[0].Shards, "") {
		return nil, err
	}
	return answer.Maps[0].Shards, nil
}

// feedParser reads the rows of a feed without holding more than one.
type feedParser struct {
	in    *bufio.Reader
	row   func(*Change) error
	text  []byte // the current row
	last  json.RawMessage
	moved bool
	c     Change
}

// maxRow bounds a row: a document can have many leaves.
const maxRow = 64 << 20

var (
	errRow      = errors.New("a row of the feed is no valid JSON object")
	errRowSize  = errors.New("a row of the feed is too large")
	errFeedForm = errors.New("the feed has no list of results")
)

// lines reads a continuous feed: an object per line, and empty lines. It ends with the object that has last_seq.
func (p *feedParser) lines() error {
	for {
		line, err := p.line()
		if len(line) > 0 {
			if !gjson.ValidBytes(line) {
				return errRow
			}
			if err := p.object(line); err != nil {
				return err
			}
		}
		switch {
		case p.last != nil || p.moved:
			return nil
		case errors.Is(err, io.EOF):
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		}
	}
}

// line returns the next line without white space around it.
func (p *feedParser) line() ([]byte, error) {
	p.text = p.text[:0]
	for {
		part, err := p.in.ReadSlice('\n')
		p.text = append(p.text, part...)
		if len(p.text) > maxRow {
			return nil, errRowSize
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return trim(p.text), err
		}
	}
}

func trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\r' || b[0] == '\n' || b[0] == '\t') {
		b = b[1:]
	}
	for n := len(b); n > 0 && (b[n-1] == ' ' || b[n-1] == '\r' || b[n-1] == '\n' || b[n-1] == '\t'); n-- {
		b = b[:n-1]
	}
	return b
}

// list reads a normal feed: {"results":[row, ...],"last_seq":SEQ,...}, in whatever layout.
func (p *feedParser) list() error {
	in := &bounded{r: p.in}
	dec := json.NewDecoder(in)
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return cmpErr(err, errFeedForm)
	}
	found := false
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return err
		}
		switch t {
		case "results":
			found = true
			if err := p.results(dec, in); err != nil {
				return err
			}
		case "last_seq":
			if err := dec.Decode(&p.last); err != nil {
				return err
			}
		default:
			var skip json.RawMessage
			if err := dec.Decode(&skip); err != nil {
				return err
			}
			p.moved = p.moved || t == "resharded"
		}
	}
	if _, err := dec.Token(); err != nil {
		return err
	}
	if !found {
		return errFeedForm
	}
	return nil
}

func cmpErr(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

func (p *feedParser) results(dec *json.Decoder, in *bounded) error {
	if t, err := dec.Token(); err != nil || t != json.Delim('[') {
		return cmpErr(err, errFeedForm)
	}
	var raw json.RawMessage
	for dec.More() {
		if err := dec.Decode(&raw); err != nil {
			return err
		}
		if err := p.object(raw); err != nil {
			return err
		}
		in.n = 0
	}
	_, err := dec.Token()
	return err
}

// bounded fails if a single value is too large for memory. n is how much was read since the last value.
type bounded struct {
	r io.Reader
	n int
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.n += n; b.n > maxRow {
		return n, errRowSize
	}
	return n, err
}

// object handles a row, or the object that ends a continuous feed. The text is valid JSON.
func (p *feedParser) object(text []byte) error {
	p.c = Change{Revs: p.c.Revs[:0]}
	isRow := false
	gjson.ParseBytes(text).ForEach(func(name, v gjson.Result) bool {
		switch name.Str {
		case "seq":
			p.c.Seq = json.RawMessage(v.Raw)
		case "id":
			isRow = true
			p.c.ID = v.String()
		case "deleted":
			p.c.Deleted = v.Bool()
		case "changes":
			v.ForEach(func(_, one gjson.Result) bool {
				p.c.Revs = append(p.c.Revs, one.Get("rev").String())
				return true
			})
		case "last_seq":
			p.last = json.RawMessage(v.Raw)
		case "resharded":
			p.moved = true
		}
		return true
	})
	if !isRow {
		return nil
	}
	p.last = nil
	if err := p.row(&p.c); err != nil {
		return &consumerError{err}
	}
	return nil
}
