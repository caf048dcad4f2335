//go:build fdb

package fdb

/*
#cgo LDFLAGS: -lfdb_c -lm
#define FDB_API_VERSION 730
#include <foundationdb/fdb_c.h>
*/
import "C"

import (
	"context"
	"errors"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/divandb/divan/layer/kv"
)

// codeOperationCancelled is the error of a cancelled future.
const codeOperationCancelled kv.Code = 1101

// convert turns an error of the client into a kv.Error. The client's own predicates classify it; they are called
// through C because the binding does not export them. nil stays nil.
func convert(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	var e fdb.Error
	if !errors.As(err, &e) {
		return err
	}
	return classify(ctx, kv.Code(e.Code))
}

func classify(ctx context.Context, code kv.Code) *kv.Error {
	out := &kv.Error{
		Code:    code,
		Message: C.GoString(C.fdb_get_error(C.fdb_error_t(code))),
		Retry:   predicate(C.FDB_ERROR_PREDICATE_RETRYABLE, code),
		Maybe:   predicate(C.FDB_ERROR_PREDICATE_MAYBE_COMMITTED, code),
	}
	if cause := causeOf(ctx); code == kv.CodeCancelled && cause != nil {
		return cause
	}
	switch {
	case code == kv.CodeCancelled && errors.Is(ctx.Err(), context.DeadlineExceeded):
		out.Code, out.Message = kv.CodeTimedOut, "the deadline passed"
	case code == kv.CodeTimedOut:
		// The caller's deadline cancels the transaction; the client's own limit means that the cluster does not
		// answer.
		out.Code, out.Message = kv.CodeUnreachable, "the FoundationDB cluster does not answer"
	}
	return out
}

func predicate(p C.int, code kv.Code) bool {
	return C.fdb_error_predicate(p, C.fdb_error_t(code)) != 0
}

// contextError returns the error of a transaction whose context has ended, or nil.
func contextError(ctx context.Context) *kv.Error {
	switch err, cause := ctx.Err(), causeOf(ctx); {
	case err == nil:
		return nil
	case cause != nil:
		return cause
	case errors.Is(err, context.DeadlineExceeded):
		return kv.NewError(kv.CodeTimedOut, "the deadline passed", nil)
	}
	return kv.NewError(kv.CodeCancelled, "the transaction was cancelled", nil)
}

// causeOf returns a copy of the kv.Error that is the cause of a context's end, or nil: package outage ends transactions
// so.
func causeOf(ctx context.Context) *kv.Error {
	var cause *kv.Error
	if !errors.As(context.Cause(ctx), &cause) {
		return nil
	}
	e := *cause
	return &e
}
