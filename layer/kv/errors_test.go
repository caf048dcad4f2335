package kv_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/divandb/divan/layer/kv"
)

func TestError_predicates(t *testing.T) {
	for _, tt := range []struct {
		code         kv.Code
		retry, maybe bool
		is           error
	}{
		{kv.CodeNotCommitted, true, false, nil},
		{kv.CodeTooOld, true, false, nil},
		{kv.CodeFutureVersion, true, false, nil},
		{kv.CodeProcessBehind, true, false, nil},
		{kv.CodeDatabaseLocked, true, false, nil},
		{kv.CodeUnknownResult, true, true, nil},
		{kv.CodeClusterVersionChanged, true, true, nil},
		{kv.CodeCancelled, false, false, context.Canceled},
		{kv.CodeTimedOut, false, false, context.DeadlineExceeded},
		{kv.CodeIOError, false, false, nil},
		{kv.CodeTransactionTooLarge, false, false, nil},
	} {
		err := fmt.Errorf("wrapped: %w", kv.NewError(tt.code, "what", io.ErrUnexpectedEOF))
		if kv.Retryable(err) != tt.retry || kv.MaybeCommitted(err) != tt.maybe || !kv.IsCode(err, tt.code) ||
			kv.IsCode(err, 1) {
			t.Errorf("%d: retryable %v, maybe committed %v", tt.code, kv.Retryable(err), kv.MaybeCommitted(err))
		}
		if !errors.Is(err, io.ErrUnexpectedEOF) || tt.is != nil && !errors.Is(err, tt.is) {
			t.Errorf("%d: the cause is lost", tt.code)
		}
	}
	if kv.Retryable(io.EOF) || kv.MaybeCommitted(nil) || kv.IsCode(nil, 0) {
		t.Error("an error that is not an engine error has a code")
	}
}
