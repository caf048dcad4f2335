package kv

import (
	"context"
	"errors"
	"fmt"
)

// Code is an error number of FoundationDB's client. Only the codes that callers distinguish have names here; an
// engine may return any other.
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
	CodeIOError               Code = 1510 // io_error: the disk failed; no further commit is acknowledged
	CodeDiskFull              Code = 1518 // the disk is full: writes are refused until there is room
	CodeUnwritable            Code = 1519 // the store's directory is not writable: writes are refused until it is
	// file_corrupt: the data asked for is damaged on disk; all other data stays available
	CodeFileCorrupt         Code = 1522
	CodeClientInvalid       Code = 2000 // client_invalid_operation
	CodeKeyTooLarge         Code = 2102 // key_too_large
	CodeValueTooLarge       Code = 2103 // value_too_large
	CodeKeyOutsideRange     Code = 2004 // key_outside_legal_range
	CodeInvertedRange       Code = 2005 // inverted_range
	CodeUsedDuringCommit    Code = 2017 // used_during_commit
	CodeTransactionTooLarge Code = 2101 // transaction_too_large
)

// Error is the error type of all engines. Ask it through the predicates below; compare codes only in tests.
type Error struct {
	Code Code
	// Message describes the failure for the operator.
	Message string
	// Retry reports whether the same transaction may be tried again, by the engine's own judgement (on FoundationDB
	// the client's predicate).
	Retry bool
	// Maybe reports whether the commit may have happened despite the error, by the engine's own judgement.
	Maybe bool
	// TooMuch is set by Transact when it gave up because the transaction did too much, not because of a failure.
	TooMuch bool
	// Err is the cause, or nil.
	Err error
}

// ErrConnectionLost is in the error chain of transactions that end because the engine's connection to the store broke,
// which the engine logs once.
var ErrConnectionLost = errors.New("the connection to the store broke")

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

// Unwrap returns the cause. A cancelled or timed-out transaction also matches context.Canceled or
// context.DeadlineExceeded.
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

// TooMuch reports whether a transaction failed because it did more than fits into one: it was too large, or Transact
// gave up after several attempts that were too old or, if TransactOptions.Divisible is set, met conflicts. Trying the
// same again would fail again; a smaller transaction may succeed. (FoundationDB's Record Layer reduces its batches
// for the same codes: transaction_too_old, transaction_timed_out, transaction_too_large, not_committed.)
func TooMuch(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.TooMuch || e.Code == CodeTransactionTooLarge)
}

// IsCode reports whether err is an engine error with that code.
func IsCode(err error, code Code) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}
