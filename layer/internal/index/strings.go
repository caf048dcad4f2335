package index

import (
	"strconv"

	"github.com/divandb/divan/layer/collate"
	"github.com/divandb/divan/layer/keyspace"
)

// Strings says what is known of the strings in the keys of a view.
type Strings struct {
	// Unambiguous reports that rows with equal keys have the same strings in them.
	Unambiguous bool
	// NoControls reports that there are no control characters that the order of views ignores.
	NoControls bool
	// Parts are what the strings in the parts of the keys are made of, as collate.LettersOf returns them.
	Parts [collate.KeyParts]collate.Letters
}

// The counters of keys by their strings: first ViewAmbiguous, then ViewLowerCase for each part of a key, then
// ViewLetters, and ViewControls.
const (
	stringCounters = 2 + 2*collate.KeyParts
	controlCounter = stringCounters - 1
)

// StringCounts are numbers of rows, one for each counter of keys by their strings.
type StringCounts [stringCounters]int64

// Add adds n for a key.
func (c *StringCounts) Add(k *Keys, key []byte, n int64) {
	if k.Format >= 2 && !collate.Unambiguous(key) {
		c[0] += n
	}
	if k.Format < 3 {
		return
	}
	for part, letters := range collate.LettersOf(key) {
		if letters != collate.Plain {
			c[1+part] += n
		}
		if letters == collate.AnyLetters {
			c[1+collate.KeyParts+part] += n
		}
	}
	if k.Format >= 4 && collate.HasControls(key) {
		c[controlCounter] += n
	}
}

// AddRows adds n for each key of some rows.
func (c *StringCounts) AddRows(k *Keys, rows []Emitted, n int64) {
	for i := range rows {
		c.Add(k, rows[i].Key, n)
	}
}

// StringCounter returns the counter of StringCounts[i] and its name in messages.
func StringCounter(i int) (what keyspace.ViewInfoKey, name string) {
	switch {
	case i == 0:
		return keyspace.ViewAmbiguous, "ambiguous keys"
	case i <= collate.KeyParts:
		part := i - 1
		return keyspace.ViewLowerCase + keyspace.ViewInfoKey(part), "keys with letters in part " + strconv.Itoa(part)
	case i == controlCounter:
		return keyspace.ViewControls, "keys with control characters"
	}
	part := i - 1 - collate.KeyParts
	return keyspace.ViewLetters + keyspace.ViewInfoKey(part), "keys beyond ASCII in part " + strconv.Itoa(part)
}

// stringKeys returns the counters of StringCounts that stringsOf needs; all includes Parts and NoControls.
func stringKeys(all bool) (keys []keyspace.ViewInfoKey) {
	for i := range stringCounters {
		if i == 0 || all {
			what, _ := StringCounter(i)
			keys = append(keys, what)
		}
	}
	return keys
}

// stringsOf returns what is known of a view's keys by the counters of stringKeys. The index's number must be known.
func (k *Keys) stringsOf(counts []int64) (s Strings) {
	s.Unambiguous = k.Format >= 2 && counts[0] == 0
	all := len(counts) == stringCounters
	s.NoControls = all && k.Format >= 4 && counts[controlCounter] == 0
	for part := range s.Parts {
		switch {
		case !all || k.Format < 3 || counts[1+collate.KeyParts+part] != 0:
			s.Parts[part] = collate.AnyLetters
		case counts[1+part] != 0:
			s.Parts[part] = collate.LowerCase
		}
	}
	return s
}
