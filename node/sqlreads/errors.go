package sqlreads

import (
	"errors"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/query/exec"
)

var kinds = map[layer.Kind]exec.Kind{
	layer.Invalid:        exec.Invalid,
	layer.Unauthorized:   exec.Forbidden,
	layer.Forbidden:      exec.Forbidden,
	layer.NotFound:       exec.NotFound,
	layer.Conflict:       exec.Unavailable, // the database changed during a read, which can be retried
	layer.Exists:         exec.Invalid,
	layer.TooLarge:       exec.TooLarge,
	layer.NotImplemented: exec.Unsupported,
	layer.Timeout:        exec.Timeout,
	layer.Unavailable:    exec.Unavailable,
	layer.Full:           exec.Full,
	layer.FunctionFailed: exec.Invalid,
}

// Error turns an error of the layer into the error that query reports. Unclassified errors are returned unchanged
// and become internal errors.
func Error(err error) error {
	if err == nil {
		return nil
	}
	if layer.SnapshotLost(err) {
		return &exec.ReadError{Kind: exec.Expired, Err: err,
			Message: "snapshot too old: the store no longer keeps the transaction's read version"}
	}
	kind, ok := kinds[layer.KindOf(err)]
	if !ok {
		return err
	}
	re := &exec.ReadError{Kind: kind, Err: err, Message: layer.Plain(err)}
	var e *layer.Error
	if errors.As(err, &e) {
		if e.Reason != "" {
			re.Message = e.Reason
		}
		if e.Name == "invalid_value" {
			re.Kind = exec.Irreducible
		}
	}
	return re
}

// is reports whether err is an error of the given kind.
func is(err error, kind layer.Kind) bool { return err != nil && layer.KindOf(err) == kind }
