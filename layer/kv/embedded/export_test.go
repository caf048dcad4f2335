package embedded

import (
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// WithFS is o on another file system.
func (o Options) WithFS(fs vfs.FS) Options { o.fs = fs; return o }

// WithTransactionTime is o with another limit than five seconds.
func (o Options) WithTransactionTime(d time.Duration) Options { o.transactionTime = d; return o }

// Pebble is the store below, for comparing with it.
func (e *Engine) Pebble() *pebble.DB { return e.db }

// Views is the number of versions that are held.
func (e *Engine) Views() int { return e.views.count() }
