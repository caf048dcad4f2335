package spec

import (
	"cmp"
	"crypto/md5"
	"encoding/hex"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer/selector"
)

// IDVersion is the version of replication ids, which checkpoints tell.
const IDVersion = 4

// ID is the id of a replication. Base is the id of its checkpoints: _local/Base.
type ID struct{ Base, Ext string }

func (id ID) String() string { return id.Base + id.Ext }

// NeedsCode reports whether the id depends on the source of a filter function.
func (s *Spec) NeedsCode() bool { return s.Filter.Kind == Function }

// ID computes the id that a CouchDB with this UUID computes. code is the source of the filter function, if NeedsCode.
func (s *Spec) ID(uuid, code string) ID {
	parts := 3
	var rest []byte
	f := &s.Filter
	params := gjson.ParseBytes(f.QueryParams)
	switch f.Kind {
	case DocIDs:
		parts++
		rest = appendIDs(rest, f.IDs)
	case Selector:
		parts++
		rest = appendSelector(rest, f.Selector)
	case Builtin:
		parts += 2
		rest = appendJSON(appendBinary(rest, f.Name), params)
	case Function:
		parts += 2
		rest = appendJSON(appendBinary(rest, code), params)
	}
	if s.WinningRevsOnly {
		parts++
		rest = appendBinary(rest, "winning_revs_only")
	}
	b := appendBinary(appendListHead([]byte{termVersion}, parts), uuid)
	b = s.Target.appendTo(s.Source.appendTo(b))
	sum := md5.Sum(append(append(b, rest...), emptyList))
	id := ID{Base: hex.EncodeToString(sum[:])}
	if s.Continuous {
		id.Ext += "+continuous"
	}
	if s.CreateTarget {
		id.Ext += "+create_target"
	}
	return id
}

// appendTo appends the endpoint as a term: who logs in where, but not with which password.
func (e *Endpoint) appendTo(dst []byte) []byte {
	if e.Local != "" {
		return appendBinary(appendAtom(append(dst, smallTuple, 2), "local"), e.Local)
	}
	dst = appendAtom(append(dst, smallTuple, 7), "remote")
	if e.HasAuth {
		dst = appendString(dst, e.User)
	} else {
		dst = appendAtom(dst, "undefined")
	}
	u, err := url.Parse(e.URL)
	if err != nil {
		u = &url.URL{} // cannot happen: it was parsed before
	}
	dst = appendString(dst, u.Hostname())
	port, _ := strconv.ParseInt(u.Port(), 10, 32)
	switch {
	case port == 0, u.Scheme == "https" && port == 443, u.Scheme == "http" && (port == 80 || port == 5984):
		dst = appendAtom(dst, "default")
	default:
		dst = appendInt(dst, port)
	}
	dst = appendString(dst, u.RequestURI())
	if len(e.Headers) == 0 {
		dst = append(dst, emptyList)
	} else {
		dst = appendListHead(dst, len(e.Headers))
		for _, h := range e.Headers {
			dst = appendString(appendString(append(dst, smallTuple, 2), h.Name), h.Value)
		}
		dst = append(dst, emptyList)
	}
	return appendAtom(dst, "undefined") // OAuth, which CouchDB has no more
}

func appendIDs(dst []byte, ids []string) []byte {
	if len(ids) == 0 {
		return append(dst, emptyList)
	}
	dst = appendListHead(dst, len(ids))
	for _, id := range ids {
		dst = appendBinary(dst, id)
	}
	return append(dst, emptyList)
}

// appendSelector appends the normalized selector, with the members of all objects in order.
func appendSelector(dst, text []byte) []byte {
	normal := []byte(`{}`)
	if s, err := selector.Parse(text); err == nil && s.Term() != nil {
		normal = s.Term().Append(nil)
	}
	return appendJSON(dst, gjson.ParseBytes(appendSorted(nil, gjson.ParseBytes(normal))))
}

// appendSorted appends a JSON value with the members of its objects in order of their names.
func appendSorted(dst []byte, v gjson.Result) []byte {
	switch {
	case v.IsObject():
		type member struct{ name, value gjson.Result }
		var list []member
		v.ForEach(func(name, value gjson.Result) bool {
			list = append(list, member{name, value})
			return true
		})
		slices.SortStableFunc(list, func(a, b member) int { return cmp.Compare(a.name.Str, b.name.Str) })
		dst = append(dst, '{')
		for i, m := range list {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendSorted(append(append(dst, m.name.Raw...), ':'), m.value)
		}
		return append(dst, '}')
	case v.IsArray():
		dst = append(dst, '[')
		for i, e := range v.Array() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendSorted(dst, e)
		}
		return append(dst, ']')
	}
	return append(dst, v.Raw...)
}

// TrimCode returns the source of a filter function as ids take it: CouchDB removes spaces around a source of one line.
func TrimCode(source string) string {
	line, end := source, ""
	if strings.HasSuffix(source, "\n") {
		line, end = source[:len(source)-1], "\n"
	}
	if strings.Contains(line, "\n") {
		return source
	}
	return strings.Trim(line, " ") + end
}
