// Package remote serves an engine to the other nodes of this machine, and is the engine of those nodes.
//
// A node has one connection to the store, over which all its transactions run at once: requests are sent without
// waiting for the answers of others, and what several goroutines send together goes out in one write. Transactions live
// at the server, as transactions of the engine there; the client keeps their writes until the next read or the commit,
// and sends both together, so that a small transaction takes as many round trips as it waits.
//
// Both sides prove that they know a shared secret before anything else is said. Nothing is encrypted without
// Options.TLS: then the connection is for the loopback interface.
//
// # When the connection breaks
//
// Transactions that were open are gone; their reads and commits fail with CodeTooOld, which is retryable, and armed
// watches fire, as they may without a change. A commit that was under way is in doubt: it fails with CodeUnknownResult,
// and only when nothing of the old connection can take effect any more. To that end the client names itself when it
// connects, and the server ends the client's previous connection, with all its transactions and commits, before it
// answers. So whoever looks a transaction id up after CodeUnknownResult sees the outcome.
package remote

import (
	"crypto/tls"
	"log/slog"
	"time"

	"github.com/divandb/divan/layer/kv"
)

// Options of Open and Serve.
type Options struct {
	// Secret is known to both sides. It must not be empty, and should be long and random: who listens on the wire can
	// try secrets out at leisure.
	Secret string
	// AcceptSecrets are accepted from clients beside Secret, while it is being changed from one to the other; and a
	// client that is not let in with Secret tries them.
	AcceptSecrets []string
	// TLS of the connections, where not nil: a server's for Serve, a client's for Open.
	TLS *tls.Config
	// Timeout is how long a store may be silent before its connection counts as broken, how long after that
	// transactions wait for a new one before they fail with CodeUnreachable, and Open before it gives up. 0 is 10 s.
	Timeout time.Duration
	// Logger gets what the operator should know. nil is slog.Default().
	Logger *slog.Logger

	// ping is how often a client asks whether the server is there. After some of these without an answer the connection
	// counts as broken.
	ping time.Duration
}

func (o Options) withDefaults() Options {
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.ping <= 0 {
		o.ping = min(2*time.Second, o.Timeout/silentPings)
	}
	return o
}

// silentPings are how many pings may go unanswered.
const silentPings = 5

var (
	errClosed      = kv.NewError(kv.CodeCancelled, "the connection to the store is closed", nil)
	errBroken      = kv.NewError(kv.CodeTooOld, "the connection to the store broke, and the transaction with it", nil)
	errInDoubt     = kv.NewError(kv.CodeUnknownResult, "the connection to the store broke during the commit", nil)
	errUnreachable = kv.NewError(kv.CodeUnreachable, "the store does not answer", nil)
	errCancelled   = kv.NewError(kv.CodeCancelled, "the transaction was cancelled", nil)
	errTimedOut    = kv.NewError(kv.CodeTimedOut, "the transaction's deadline passed", nil)
	errUsedCommit  = kv.NewError(kv.CodeUsedDuringCommit, "the transaction is being committed or was", nil)
	errTxTooLarge  = kv.NewError(kv.CodeTransactionTooLarge, "the transaction is too large", nil)
	errNotYet      = kv.NewError(kv.CodeClientInvalid, "the transaction is not committed", nil)
	errNoStamp     = kv.NewError(kv.CodeClientInvalid, "the transaction wrote nothing and has no versionstamp", nil)
	errProtocol    = kv.NewError(kv.CodeIOError, "the store's answer makes no sense", nil)
)
