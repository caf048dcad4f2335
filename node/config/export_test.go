package config

import "slices"

// MissingPaths returns the settings that text, a node.yaml, does not show. An empty mapping counts as shown.
func MissingPaths(text []byte) ([]string, error) {
	s := newSettings()
	s.readYAML("node.yaml", text)
	if len(s.faults) > 0 {
		return nil, s.faults
	}
	return slices.DeleteFunc(Paths(), func(path string) bool { _, ok := s.origins[path]; return ok }), nil
}
