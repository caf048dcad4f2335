package api

import "strings"

// Bodies lists the endpoints that may get a body, as METHOD TABLE/NAME/PATTERN.
func Bodies() (list []string) {
	all := New(Options{}).routes
	for name, table := range map[string]map[string][]tail{"server": all.server, "database": all.inDatabase,
		"design": all.inDesign} {
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
