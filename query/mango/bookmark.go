package mango

import (
	"encoding/base64"
	"encoding/json"
	"strconv"

	"github.com/divandb/divan/layer/jsontext"
)

// Position is a place in the answer to a query: after a row of an index.
type Position struct {
	Design, Name string
	Key          []byte // JSON; of AllDocs, nothing
	ID           string
}

// in reports whether the position is in an index.
func (p *Position) in(ix *Index) bool { return p.Design == ix.Design && p.Name == ix.Name }

// Bookmark returns the position as clients see it.
func (p *Position) Bookmark() string {
	b := jsontext.AppendQuoted([]byte{'['}, p.Design)
	b = jsontext.AppendQuoted(append(b, ','), p.Name)
	b = append(b, ',')
	if p.Key == nil {
		b = append(b, "null"...)
	} else {
		b = append(b, p.Key...)
	}
	b = jsontext.AppendQuoted(append(b, ','), p.ID)
	return base64.RawURLEncoding.EncodeToString(append(b, ']'))
}

// ParseBookmark reads a bookmark.
func ParseBookmark(text string) (*Position, error) {
	invalid := refuse("invalid_bookmark", "Invalid bookmark value: "+strconv.Quote(text))
	b, err := base64.RawURLEncoding.DecodeString(text)
	var parts []json.RawMessage
	if err != nil || !jsontext.Within(b, jsontext.MaxDepth) || json.Unmarshal(b, &parts) != nil || len(parts) != 4 {
		return nil, invalid
	}
	p := &Position{Key: parts[2]}
	for i, into := range map[int]*string{0: &p.Design, 1: &p.Name, 3: &p.ID} {
		if json.Unmarshal(parts[i], into) != nil {
			return nil, invalid
		}
	}
	if p.Design == "" {
		p.Key = nil
	}
	if (p.Design == "") != (p.Name == AllDocs) || p.Key != nil && p.Key[0] != '[' {
		return nil, invalid
	}
	return p, nil
}
