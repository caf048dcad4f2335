package config

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

func checkTracing(s *settings) {
	t := s.cfg.Tracing
	if t.Endpoint != "" {
		u, err := url.Parse(t.Endpoint)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil {
			s.at("tracing.endpoint", "is not a URL such as http://127.0.0.1:4318")
		} else if port := u.Port(); port != "" {
			if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
				s.at("tracing.endpoint", "%q is not a port", port)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Headers)) {
		value := t.Headers[name]
		badName := strings.ContainsFunc(name, func(r rune) bool {
			return r != '-' && r != '_' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z')
		})
		if name == "" || badName {
			s.at("tracing.headers", "%q is not the name of a header", name)
		}
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
			s.at("tracing.headers", "%s contains a character that cannot be in a header", name)
		}
	}
}
