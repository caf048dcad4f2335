// Package events keeps the last events of a node in memory, writes each once to the log, and groups the events of one
// cause, of all nodes, into stories. Kinds that a stranger can cause are limited, so that they displace no others and
// do not fill the log. The table of kinds makes docs/events.md.
package events
