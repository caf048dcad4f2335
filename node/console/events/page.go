package events

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

const pageHead = "# Events\n\n" +
	"<!-- Made from the table in node/console/events: go test ./node/console/events -run TestPage -update -->\n\n" +
	"What happens on a node is an event: once in its log, in the console, over SQL in `divan.events`, and over HTTP\n" +
	"([operations](operations.md#events)).\n\n" +
	"| kind | severity | message in the log | what has happened | what to do |\n|---|---|---|---|---|\n"

// Markdown returns docs/events.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString(pageHead)
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		k := kinds[name]
		about := k.about
		if k.limited {
			about += fmt.Sprintf(" (at most %d per minute are listed one by one)", burst)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", name, k.severity, k.log, about, k.advice)
	}
	return b.String()
}
