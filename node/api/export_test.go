package api

import "strings"

// Bodies lists the endpoints that may get a body, as METHOD TABLE/NAME/PATTERN.
func Bodies() (list []string) {
	eachTail(func(table, segment string, t tail) {
		path := strings.Join(append([]string{table, segment}, t.pattern...), "/")
		if t.put != nil {
			list = append(list, "PUT "+path)
		}
		if t.post != nil {
			list = append(list, "POST "+path)
		}
	})
	return list
}

// Endpoint is a row of the table of endpoints.
type Endpoint struct {
	Table   string   // "server", "database" or "design"
	Segment string   // the first segment
	Pattern []string // the others: "*" is any, "..." the rest
}

// Endpoints lists the rows of the table of endpoints.
func Endpoints() (list []Endpoint) {
	eachTail(func(table, segment string, t tail) { list = append(list, Endpoint{table, segment, t.pattern}) })
	return list
}

// eachTail calls f with each row of the table of endpoints.
func eachTail(f func(table, segment string, t tail)) {
	all := New(Options{}).routes
	for name, table := range map[string]map[string][]tail{"server": all.server, "database": all.inDatabase,
		"design": all.inDesign} {
		for segment, tails := range table {
			for _, t := range tails {
				f(name, segment, t)
			}
		}
	}
}

// Handled reports whether a method of a path has an endpoint of its own.
func Handled(method string, path []string) bool {
	all := New(Options{}).routes
	e := all.find(path)
	if e == &all.nothingHere || e == &all.nothingInDatabase {
		return false
	}
	return e.handler(method) != nil
}
