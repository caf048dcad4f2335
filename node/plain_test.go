package node

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/node/sqlreads"
)

// The console shows what is wrong with the store without the codes of its client.
func TestPlainly(t *testing.T) {
	for code, want := range map[kv.Code]string{
		kv.CodeTimedOut:    "the store takes too long to answer. If",
		kv.CodeUnreachable: "it said so. See whether it runs",
		kv.CodeKeyTooLarge: "a name is too long",
		kv.CodeDiskFull:    "it said so. The view Storage",
		9999:               "it said so",
	} {
		got := plainly(fmt.Errorf("layer: names: %w", kv.NewError(code, "it said so", nil)))
		if !strings.HasPrefix(got, want) || strings.Contains(got, "kv:") || strings.Contains(got, fmt.Sprint(int(code))) {
			t.Errorf("%d is %q", code, got)
		}
	}
	if got := plainly(errors.New("kv: no (1031)")); got != "" {
		t.Errorf("another error is %q", got)
	}
}

// Clients of SQL are told what is wrong with the store without the numbers of its client.
func TestPlain_sql(t *testing.T) {
	const want = "the store does not answer"
	got := sqlreads.Error(fmt.Errorf("layer: names: %w", kv.NewError(kv.CodeUnreachable, want, nil)))
	if got.Error() != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestOfStore(t *testing.T) {
	raw := kv.NewError(kv.CodeTimedOut, "the transaction's deadline passed", nil)
	for want, err := range map[string]error{
		"The store does not answer": &layer.Error{Kind: layer.Unavailable, Reason: "The store does not answer", Err: raw},
		plainly(raw):                fmt.Errorf("layer: names: %w", raw),
		"another":                   errors.New("another"),
	} {
		if got := ofStore(err); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for want, err := range map[string]error{
		"it does not exist any more": &layer.Error{Kind: layer.NotFound, Name: "not_found", Reason: "deleted"},
		"Database does not exist.":   &layer.Error{Kind: layer.NotFound, Name: "not_found", Reason: "Database does not exist."},
	} {
		if got := refused(err); got.Error() != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
