package keys

import (
	"bytes"
	"errors"

	"github.com/divandb/divan/layer/kv"
)

// EndOfKeys is where the keys end that transactions can reach. Those from 0xff on are the engine's own, but for
// kv.MetadataVersionKey.
var EndOfKeys = []byte{0xff}

var (
	errOutside       = kv.NewError(kv.CodeKeyOutsideRange, "the key is outside the legal range", nil)
	errInverted      = kv.NewError(kv.CodeInvertedRange, "the range ends before it begins", nil)
	errKeyTooLarge   = kv.NewError(kv.CodeKeyTooLarge, "the key is too large", nil)
	errValueTooLarge = kv.NewError(kv.CodeValueTooLarge, "the value is too large", nil)
	errMetadata      = kv.NewError(kv.CodeClientInvalid,
		"the metadata version is changed by its versionstamp alone", nil)
)

// LegalKey is why a key cannot be cleared, or set where legalPair has no other reason, or nil.
func LegalKey(key []byte) error {
	switch {
	case len(key) > 0 && key[0] == 0xff:
		return errOutside
	case len(key) > kv.MaxKeySize:
		return errKeyTooLarge
	}
	return nil
}

// LegalBound is why a key cannot be one end of a range, or nil. It may be one byte longer than a key, to come after the
// longest.
func LegalBound(key []byte) error {
	switch {
	case bytes.Compare(key, EndOfKeys) > 0:
		return errOutside
	case len(key) > kv.MaxKeySize+1:
		return errKeyTooLarge
	}
	return nil
}

// LegalRange is why a range cannot be read or cleared, or nil.
func LegalRange(r kv.KeyRange) error {
	if bytes.Compare(r.Begin, r.End) > 0 {
		return errInverted
	}
	return errors.Join(LegalBound(r.Begin), LegalBound(r.End))
}

// LegalRead is why a key cannot be read by itself, or nil.
func LegalRead(key []byte) error {
	if string(key) == kv.MetadataVersionKey {
		return nil
	}
	return LegalKey(key)
}

// LegalPair is why a value cannot be set, or nil.
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
