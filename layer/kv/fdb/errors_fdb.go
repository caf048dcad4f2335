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

// convert turns an error of the client into a kv.Error. The classes are the client's own predicates: the binding does not export them, so
// they are asked for in C. nil stays nil.
func convert(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	var e fdb.Error
	if !errors.As(err, &e) {
		return err
	}
	out := &kv.Error{
		Code:    kv.Code(e.Code),
		Message: C.GoString(C.fdb_get_error(C.fdb_error_t(e.Code))),
		Retry:   predicate(C.FDB_ERROR_PREDICATE_RETRYABLE, e),
		Maybe:   predicate(C.FDB_ERROR_PREDICATE_MAYBE_COMMITTED, e),
	}
	if out.Code == kv.CodeCancelled && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		out.Code, out.Message = kv.CodeTimedOut, "the deadline passed"
	}
	return out
}

func predicate(p C.int, e fdb.Error) bool {
	return C.fdb_error_predicate(p, C.fdb_error_t(e.Code)) != 0
}
