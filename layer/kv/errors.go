package kv

import (
	"context"
	"errors"
	"fmt"
)

// Code is an error number of FoundationDB's client. Only those that the code above engines distinguishes have names
// here; an engine may return any other.
type Code int

// The codes, with FoundationDB's numbers.
const (
	CodeTimedOut              Code = 1031 // transaction_timed_out
	CodeTooOld                Code = 1007 // transaction_too_old
	CodeFutureVersion         Code = 1009 // future_version
	CodeNotCommitted          Code = 1020 // not_committed: a conflict
	CodeUnknownResult         Code = 1021 // commit_unknown_result
	CodeCancelled             Code = 1025 // transaction_cancelled
	CodeUnreachable           Code = 1026 // connection_failed: the store does not answer within the engine's own limit
	CodeProcessBehind         Code = 1037 // process_behind
	CodeDatabaseLocked        Code = 1038 // database_locked
	CodeClusterVersionChanged Code = 1039 // cluster_version_changed: like 1021, may have committed
	CodeTooManyWatches        Code = 1032 // too_many_watches
	CodeAccessedUnreadable    Code = 1036 // accessed_unreadable
	CodeIOError               Code = 1510 // io_error: the disk failed; nothing more is acknowledged
	CodeDiskFull              Code = 1518 // the disk is full: writes are refused until there is room
	CodeUnwritable            Code = 1519 // the store's directory cannot be written: writes are refused until it can be
	// file_corrupt: what was asked for is damaged on disk; everything else goes on
	CodeFileCorrupt         Code = 1522
	CodeClientInvalid       Code = 2000 // client_invalid_operation
	CodeKeyTooLarge         Code = 2102 // key_too_large
	CodeValueTooLarge       Code = 2103 // value_too_large
	CodeKeyOutsideRange     Code = 2004 // key_outside_legal_range
	CodeInvertedRange       Code = 2005 // inverted_range
	CodeUsedDuringCommit    Code = 2017 // used_during_commit
	CodeTransactionTooLarge Code = 2101 // transaction_too_large
)

// Error is what engines return. Ask it through the predicates below; compare codes only in tests.
type Error struct {
	Code Code
	// Message is for the operator.
	Message string
	// Retry is the engine's own answer to "may the same transaction be tried again" (on FoundationDB the client's
	// predicate).
	Retry bool
	// Maybe is the engine's own answer to "may the commit have happened all the same".
	Maybe bool
	// TooMuch is set by Transact where it gave up because of how much the transaction did, and not because of what went
	// wrong.
	TooMuch bool
	// Err is the cause, or nil.
	Err error
}

// NewError returns an Error with Retry and Maybe as FoundationDB's client classifies code.
func NewError(code Code, message string, cause error) *Error {
	e := &Error{Code: code, Message: message, Err: cause}
	switch code {
	case CodeTooOld, CodeFutureVersion, CodeNotCommitted, CodeProcessBehind, CodeDatabaseLocked:
		e.Retry = true
	case CodeUnknownResult, CodeClusterVersionChanged:
		e.Retry, e.Maybe = true, true
	}
	return e
}

func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("kv: %s (%d): %v", e.Message, e.Code, e.Err)
	}
	return fmt.Sprintf("kv: %s (%d)", e.Message, e.Code)
}

// Unwrap gives the cause; a cancelled or timed-out transaction also is context.Canceled or context.DeadlineExceeded.
func (e *Error) Unwrap() []error {
	var errs []error
	switch e.Code {
	case CodeCancelled:
		errs = append(errs, context.Canceled)
	case CodeTimedOut:
		errs = append(errs, context.DeadlineExceeded)
	}
	if e.Err != nil {
		errs = append(errs, e.Err)
	}
	return errs
}

// Retryable reports whether the transaction may be run again from the start, after a pause.
func Retryable(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Retry
}

// MaybeCommitted reports whether the commit may have happened although it failed (clause C4).
func MaybeCommitted(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Maybe
}

// TooMuch reports whether a transaction failed because it did more than fits one: it was too large, or Transact gave up
// on it since attempt after attempt was too old or, where TransactOptions.Divisible is set, met conflicts. The same
// again would fail again; less may succeed. (The Record Layer of FoundationDB has these codes as those that call for
// less work: transaction_too_old, transaction_timed_out, transaction_too_large, not_committed.)
func TooMuch(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.TooMuch || e.Code == CodeTransactionTooLarge)
}

// IsCode reports whether err is an engine error of that code.
func IsCode(err error, code Code) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}
