package query_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// talks is the number of conversations of TestWire_random.
const talks = 150

// TestWire_random sends random messages to this server and to a live PostgreSQL 15, which must answer with the same
// messages. Errors have the same SQLSTATE and message.
func TestWire_random(t *testing.T) {
	addr, network, their := wireServers(t)
	for seed := range uint64(talks) {
		rnd := rand.New(rand.NewPCG(seed, 14))
		k := &talk{lines: []string{`startup {"user": "postgres"}`}}
		for range 3 + rnd.IntN(25) {
			k.lines = append(k.lines, randomMessage(rnd))
		}
		// Sync also ends what is discarded and a COPY that waits for data.
		k.lines = append(k.lines, "f the end", "S", "X", "read end")
		got, want := k.hold(t, "tcp", addr), k.hold(t, network, their)
		lines, ours, theirs := k.diff(described(got), described(want))
		if len(ours) == 1 && ours[0] == `E ERROR 34000: portal "" does not exist` {
			continue // PostgreSQL keeps the unnamed portal of a statement that has failed, to refuse it with 25P02
		}
		if len(ours)+len(theirs) > 0 {
			t.Errorf("seed %d:\n%s\n\nours (-) and PostgreSQL's (+):\n%s", seed, strings.Join(k.lines, "\n"),
				strings.Join(lines, "\n"))
		}
	}
}

// randomMessage returns a line of a conversation.
func randomMessage(rnd *rand.Rand) string {
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	name := func() string { return pick("-", "-", "-", "a", "b") }
	simple := func() string {
		return pick("SELECT 1", "SELECT 2 AS b, 'x'", "", ";", "SELECT 1 WHERE false", "BEGIN", "BEGIN", "COMMIT", "ROLLBACK",
			"SELECT nope", "SELECT 1 FROM", "SAVEPOINT s", "ROLLBACK TO s", "RELEASE s", "SET application_name = 'r'",
			"SET LOCAL application_name = 'l'", "SHOW application_name", "RESET application_name",
			"DECLARE a CURSOR FOR SELECT 7",
			"DECLARE b SCROLL CURSOR WITH HOLD FOR SELECT i FROM generate_series(1, 5) i", "FETCH a", "FETCH 2 FROM b",
			"FETCH PRIOR FROM b", "MOVE LAST FROM b", "CLOSE a", "CLOSE ALL", "CLOSE b",
			"PREPARE a AS SELECT 5", "PREPARE b AS SELECT 6",
			"EXECUTE a", "EXECUTE b", "DEALLOCATE a", "DEALLOCATE ALL", "DISCARD ALL", "COPY (SELECT 1, 'x') TO STDOUT",
			"SELECT i FROM generate_series(1, 4) i", "SELECT 1 / (i - 3) FROM generate_series(1, 5) i",
			"SELECT name FROM pg_cursors ORDER BY 1", "SELECT name FROM pg_prepared_statements ORDER BY 1",
			"SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SHOW transaction_isolation", "COMMIT AND CHAIN",
			"ROLLBACK AND NO CHAIN",
			"LISTEN l", "NOTIFY l", "UNLISTEN l", "START TRANSACTION READ ONLY")
	}
	switch rnd.IntN(24) {
	case 0, 1, 2, 3:
		list := []string{simple()}
		for rnd.IntN(3) == 0 {
			list = append(list, simple())
		}
		return "Q " + strings.Join(list, "; ")
	case 4, 5, 6, 7:
		if rnd.IntN(3) == 0 {
			return fmt.Sprintf("P %s %q", name(), pick("SELECT $1::int", "SELECT $1::text, $2::int", "SELECT $1",
				"SELECT $1::int + 1 WHERE $2::bool"))
		}
		return fmt.Sprintf("P %s %q", name(), simple())
	case 8, 9, 10, 11:
		return fmt.Sprintf("B %s %s %s %s %s", name(), name(), pick("[]", "[]", "[0]", "[1]", "[0, 0]", "[2]"),
			pick("[]", "[]", "[]", `["1"]`, `["x"]`, `["1", "2"]`, `[null]`, `[null, null]`, `["1", "t"]`,
				`[{"hex": "00000005"}]`),
			pick("[]", "[]", "[0]", "[1]", "[0, 1]", "[7]"))
	case 12, 13:
		return "D " + pick("S", "P") + " " + name()
	case 14, 15, 16, 17:
		return "E " + name() + " " + pick("0", "0", "1", "2", "100", "-1")
	case 18:
		return "C " + pick("S", "P") + " " + name()
	case 19, 20:
		return "S"
	case 21:
		return "H"
	case 22:
		return pick("d x", "c", "f why", "D P "+name())
	}
	return pick("S", "raw 44 00000006 5900", "raw 43 00000006 5800", "raw 53 00000005 00",
		"raw 42 00000007 000000", "raw 45 00000006 0000")
}
