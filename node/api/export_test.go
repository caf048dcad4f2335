package api

import "strings"

// ParseBulk shows tests what parseBulk finds: the documents of a _bulk_docs body.
func ParseBulk(text []byte) (docs [][]byte, err error) {
	b, err := parseBulk(text, 100_000)
	return b.docs, err
}

// SplitPath and ParseQuery show tests how addresses are read.
var SplitPath = splitPath

// ParseQuery returns names and values in turn.
func ParseQuery(raw string) (list []string, ok bool) {
	ps, ok := parseQuery(raw)
	for _, p := range ps {
		list = append(list, p.name, p.value)
	}
	return list, ok
}

// AppendString is the JSON string encoder.
var AppendString = appendString

// Bodies are the endpoints that may get a body, as METHOD TABLE/NAME/PATTERN.
func Bodies() (list []string) {
	for name, table := range map[string]map[string][]tail{"server": serverTable, "database": databaseTable,
		"design": designTable} {
		for segment, tails := range table {
			for _, t := range tails {
				path := strings.Join(append([]string{name, segment}, t.pattern...), "/")
				if t.put != nil {
					list = append(list, "PUT "+path)
				}
				if t.post != nil {
					list = append(list, "POST "+path)
				}
			}
		}
	}
	return list
}
