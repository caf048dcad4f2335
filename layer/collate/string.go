package collate

import (
	"golang.org/x/text/collate"
	"golang.org/x/text/language"
)

// stringKeys makes sort keys of strings. Not safe for concurrent use: each encoder owns one.
type stringKeys struct {
	collator *collate.Collator
	buffer   *collate.Buffer
}

func newStringKeys() stringKeys {
	return stringKeys{collator: collate.New(language.Und), buffer: new(collate.Buffer)}
}

// appendKey appends the self-delimiting sort key of text.
func (s *stringKeys) appendKey(dst, text []byte) []byte {
	s.buffer.Reset()
	return appendBytes(dst, s.collator.Key(s.buffer, text))
}

// compare orders two strings without keys.
func (s *stringKeys) compare(a, b []byte) int { return s.collator.Compare(a, b) }
