// Package remote serves an engine to the other nodes of this machine, and is the engine of those nodes.
//
// A node has one connection to the store, which all its transactions share: requests are sent without waiting for the
// answers of others, and frames that several goroutines send together go out in one write. Transactions exist at the
// server as transactions of its engine. The client buffers writes until the next read or the commit and sends both
// together, so that a small transaction takes only as many round trips as it has to wait for answers.
//
// Both sides first prove that they know a shared secret. Without Options.TLS nothing is encrypted, so the connection
// must stay on the loopback interface.
//
// # When the connection breaks
//
// Open transactions are lost; their reads and commits fail with CodeTooOld, which is retryable, and armed watches
// fire, as they may without a change. A commit in progress is in doubt: it fails with CodeUnknownResult, but only
// when nothing of the old connection can take effect any more. For that the client names itself when it connects, and
// the server ends the client's previous connection, with all its transactions and commits, before it answers. So a
// lookup of the transaction id after CodeUnknownResult sees the outcome.
package remote

import (
	"crypto/tls"
	"log/slog"
	"time"

	"github.com/divandb/divan/layer/kv"
)

// Options are the options of Open and Serve.
type Options struct {
	// Secret is known to both sides. It must not be empty, and should be long and random: an eavesdropper can test
	// guesses offline.
	Secret string
	// AcceptSecrets are also accepted from clients, while the secret is being changed. A client that is refused with
	// Secret tries them too.
	AcceptSecrets []string
	// TLS is the TLS configuration of the connections: a server's for Serve, a client's for Open. nil means no TLS.
	TLS *tls.Config
	// Timeout is how long a store may be silent before transactions fail with CodeUnreachable, whether or not the
	// connection stands; and how long Open tries. 0 is 10 s. Transactions that begin when a store has been silent for
	// two fifths of it, at most 2 s, fail at once, unless the server has told that it stops: then it is likely to be
	// restarted, and they wait as well.
	Timeout time.Duration
	// Logger gets messages for the operator. nil is slog.Default().
	Logger *slog.Logger

	// ping is the interval between a client's pings. After several unanswered ones the connection is considered
	// broken.
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

// notice is how long a store may be silent before new transactions fail at once.
func (o Options) notice() time.Duration { return min(2*time.Second, 2*o.Timeout/5) }

// silentPings is how many pings may go unanswered.
const silentPings = 5

var (
	errClosed      = kv.NewError(kv.CodeCancelled, "the connection to the store is closed", nil)
	errBroken      = kv.NewError(kv.CodeTooOld, "the transaction is lost", kv.ErrConnectionLost)
	errInDoubt     = kv.NewError(kv.CodeUnknownResult, "the connection to the store broke during the commit", nil)
	errUnreachable = kv.NewError(kv.CodeUnreachable, "the store does not answer", nil)
	errCancelled   = kv.NewError(kv.CodeCancelled, "the transaction was cancelled", nil)
	errTimedOut    = kv.NewError(kv.CodeTimedOut, "the transaction's deadline passed", nil)
	errUsedCommit  = kv.NewError(kv.CodeUsedDuringCommit, "the transaction is committing or committed", nil)
	errTxTooLarge  = kv.NewError(kv.CodeTransactionTooLarge, "the transaction is too large", nil)
	errNotYet      = kv.NewError(kv.CodeClientInvalid, "the transaction is not committed", nil)
	errNoStamp     = kv.NewError(kv.CodeClientInvalid, "the transaction wrote nothing and has no versionstamp", nil)
	errProtocol    = kv.NewError(kv.CodeIOError, "cannot decode the store's answer", nil)
)
