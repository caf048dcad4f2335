package faultkv

import (
	"math/rand/v2"
	"os"
	"strconv"

	"github.com/divandb/divan/layer/kv"
)

// Variable is the environment variable that makes suites run on engines with faults: a seed, or "random" for a new one
// in each test.
//
//	DIVAN_TEST_FAULTS=1 go test ./layer ./actors ./node/api
const Variable = "DIVAN_TEST_FAULTS"

// Enabled reports whether Variable is set. A test that counts reads, or that means a single attempt, skips itself then.
func Enabled() bool { return os.Getenv(Variable) != "" }

// suiteRates are lower than DefaultRates where a test has transactions of thousands of calls.
var suiteRates = Rates{Conflict: 0.05, TooOld: 0.0005, FutureVersion: 0.02, UnknownLost: 0.04, UnknownCommitted: 0.04,
	Slow: 0.001, Spurious: 0.1}

// InSuite is e with faults where Variable is set, else e. It logs the seed, which counts for the order of faults in
// one goroutine.
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
