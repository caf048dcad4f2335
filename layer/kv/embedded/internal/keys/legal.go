package keys

import (
	"bytes"
	"errors"

	"github.com/divandb/divan/layer/kv"
)

// EndOfKeys is the end of the keys that transactions can access. Keys from 0xff on are private to the engine, except
// kv.MetadataVersionKey.
var EndOfKeys = []byte{0xff}

var (
	errOutside       = kv.NewError(kv.CodeKeyOutsideRange, "the key is outside the legal range", nil)
	errInverted      = kv.NewError(kv.CodeInvertedRange, "the range ends before it begins", nil)
	errKeyTooLarge   = kv.NewError(kv.CodeKeyTooLarge, "the key is too large", nil)
	errValueTooLarge = kv.NewError(kv.CodeValueTooLarge, "the value is too large", nil)
	errMetadata      = kv.NewError(kv.CodeClientInvalid,
		"the metadata version can only be set to a versionstamp", nil)
)

// LegalKey returns why a key cannot be cleared, or nil. It also applies to keys that are set, together with
// LegalPair.
func LegalKey(key []byte) error {
	switch {
	case len(key) > 0 && key[0] == 0xff:
		return errOutside
	case len(key) > kv.MaxKeySize:
		return errKeyTooLarge
	}
	return nil
}

// LegalBound returns why a key cannot be an end of a range, or nil. It may be one byte longer than a key, to come
// after the longest one.
func LegalBound(key []byte) error {
	switch {
	case bytes.Compare(key, EndOfKeys) > 0:
		return errOutside
	case len(key) > kv.MaxKeySize+1:
		return errKeyTooLarge
	}
	return nil
}

// LegalRange returns why a range cannot be read or cleared, or nil.
func LegalRange(r kv.KeyRange) error {
	if bytes.Compare(r.Begin, r.End) > 0 {
		return errInverted
	}
	return errors.Join(LegalBound(r.Begin), LegalBound(r.End))
}

// LegalRead returns why a single key cannot be read, or nil.
func LegalRead(key []byte) error {
	if string(key) == kv.MetadataVersionKey {
		return nil
	}
	return LegalKey(key)
}

// LegalPair returns why a value cannot be set, or nil.
func LegalPair(key, value []byte) error {
	if string(key) == kv.MetadataVersionKey {
		return errMetadata
	}
	if err := LegalKey(key); err != nil {
		return err
	}
	if len(value) > kv.MaxValueSize {
		return errValueTooLarge
	}
	return nil
}

// StampFits reports whether a versionstamp fits into b at offset.
func StampFits(b []byte, offset int) bool {
	return offset >= 0 && offset+len(kv.Versionstamp{}) <= len(b)
}
