package faultkv

import (
	"math/rand/v2"
	"os"
	"strconv"

	"github.com/divandb/divan/layer/kv"
)

// Variable is the environment variable that makes test suites run on engines with injected faults: a seed, or
// "random" for a new seed in each test.
//
//	DIVAN_TEST_FAULTS=1 go test ./layer ./actors ./node/api
const Variable = "DIVAN_TEST_FAULTS"

// Enabled reports whether Variable is set. Tests that count reads or expect a single attempt skip themselves then.
func Enabled() bool { return os.Getenv(Variable) != "" }

// suiteRates are lower than DefaultRates, for tests with transactions of thousands of calls.
var suiteRates = Rates{Conflict: 0.05, TooOld: 0.0005, FutureVersion: 0.02, UnknownLost: 0.04, UnknownCommitted: 0.04,
	Slow: 0.001, Spurious: 0.1}

// InSuite wraps e with faults if Variable is set, else returns e. It logs the seed, which determines the order of
// faults within one goroutine.
func InSuite(tb interface {
	Helper()
	Logf(format string, args ...any)
}, e kv.Engine) kv.Engine {
	tb.Helper()
	if !Enabled() {
		return e
	}
	seed, err := strconv.ParseUint(os.Getenv(Variable), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	tb.Logf("%s=%d", Variable, seed)
	return New(e, Options{Seed: seed, Rates: suiteRates})
}
