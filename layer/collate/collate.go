// Package collate turns a JSON key into bytes that sort as CouchDB sorts views (clause V5):
//
//	null < false < true < numbers < strings < arrays < objects
//
// Strings sort by ICU's root collation; arrays element by element, the shorter first; objects member by member in
// order of appearance (name, then value), the smaller first. Two keys that CouchDB treats as equal have the same
// bytes. The source is couch_ejson_compare in apache/couchdb.
//
// An encoded key is self-delimiting: no encoding is a proper prefix of another, so whatever follows it (an id, a
// duplicate number) never affects the order, and the end of a key can be found. Keys cannot be turned back into JSON;
// an index keeps the emitted text beside them.
//
// Strings sort as in ICU 72 (Unicode 15.0). This is tested against ICU for all assigned characters outside of the
// supplementary ideographic planes and for 400,000 pairs of strings of all scripts. Differences from CouchDB:
//
//   - a CouchDB with another version of ICU sorts characters of later Unicode versions differently;
//   - a contraction skips at most 128 combining marks to find the mark that completes it;
//   - a lone surrogate, which CouchDB refuses, counts as U+FFFD; a number beyond the doubles, which it refuses too,
//     counts as its exact value.
//
// All functions are safe for concurrent use, do not block, and do not keep their arguments.
package collate

import (
	"errors"
	"fmt"
)

// Version identifies the order that this build produces. An index records it, and is rebuilt if its version differs:
// mixing two orders in one range loses rows. It changes with the string tables and with the encoding.
const Version uint16 = 2

// The versions of the order of strings: of ICU, and as its ucol_getVersion and ucol_getUCAVersion return them. A
// CouchDB that was built with this ICU shows the same.
const (
	ICUVersion  = "72.1"
	ICUCollator = "153.120"
	UCAVersion  = "15"
)

// Low sorts before, and High after, any encoded key. They stand for an absent start or end of a range.
const (
	Low  byte = 0x00
	High byte = 0xFF
)

// MaxDepth bounds the nesting of arrays and objects in a key. CouchDB has no such limit, but without one a key of 8
// KB (clause V6) could nest 8,000 levels deep and recurse as deeply.
const MaxDepth = 1000

// ErrSyntax: the key is not one JSON text. ErrDepth: it is nested deeper than MaxDepth. ErrRange: it has a number
// with an exponent above MaxExponent.
var (
	ErrSyntax = errors.New("collate: key is not JSON")
	ErrRange  = fmt.Errorf("collate: key has a number with an exponent above %d", MaxExponent)
	ErrDepth  = fmt.Errorf("collate: key is nested deeper than %d levels", MaxDepth)
)

// The first byte of each encoded value. The byte that ends an array or object is lower than all of them, so that a
// prefix sorts first. The gaps leave room for new kinds.
const (
	tagEnd      byte = 0x01
	tagNull     byte = 0x10
	tagFalse    byte = 0x11
	tagTrue     byte = 0x12
	tagNegative byte = 0x20
	tagPositive byte = 0x21
	tagString   byte = 0x30
	tagArray    byte = 0x40
	tagObject   byte = 0x50
)

// The first bytes for options.collation = "raw", which is Erlang's term order of the decoded JSON: numbers, then the
// atoms false, null and true by name, then objects (tuples), arrays (lists) and strings (binaries, byte by byte).
const (
	rawNegative byte = 0x08
	rawPositive byte = 0x09
	rawFalse    byte = 0x10
	rawNull     byte = 0x11
	rawTrue     byte = 0x12
	rawObject   byte = 0x20
	rawArray    byte = 0x30
	rawString   byte = 0x40
)

// order assigns the tags of one collation.
type order struct {
	null, no, yes, negative, positive, text, array, object byte
	raw                                                    bool
}

var (
	couchOrder = order{tagNull, tagFalse, tagTrue, tagNegative, tagPositive, tagString, tagArray, tagObject, false}
	rawOrder   = order{rawNull, rawFalse, rawTrue, rawNegative, rawPositive, rawString, rawArray, rawObject, true}
)

// AppendKey appends the sort key of one JSON text to dst and returns the extended slice. After an error (ErrSyntax,
// ErrDepth, ErrRange) it returns dst unchanged. White space around the text is allowed.
func AppendKey(dst, json []byte) ([]byte, error) { return appendKey(dst, json, &couchOrder) }

// AppendRawKey is AppendKey for a view with options.collation = "raw". Keys of the two orders must not meet in one
// index.
func AppendRawKey(dst, json []byte) ([]byte, error) { return appendKey(dst, json, &rawOrder) }

func appendKey(dst, json []byte, o *order) ([]byte, error) {
	e := encoders.Get().(*encoder)
	defer encoders.Put(e)
	e.scanner = newScanner(json, nil)
	e.order, e.dst = o, dst
	err := e.value(0)
	if err == nil {
		err = e.end()
	}
	out := e.dst
	e.dst, e.scanner = nil, scanner{}
	if err != nil {
		return dst, err
	}
	return out, nil
}
