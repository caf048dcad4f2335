package auth

import (
	"fmt"
	"net/url"
	"slices"
)

// CheckOrigins says what is wrong with the origins whose pages may use the node from a browser: the setting (origins or credentials) and why; both are empty
// where nothing is. node.yaml and _config have the same rules.
func CheckOrigins(origins []string, credentials bool) (setting, why string) {
	if slices.Contains(origins, "*") {
		switch {
		case len(origins) > 1:
			return "origins", `"*" stands for every origin; name no others beside it`
		case credentials:
			return "credentials", `browsers send no credentials where origins is "*"; name the origins`
		}
		return "", ""
	}
	for _, o := range origins {
		if u, err := url.Parse(o); err != nil || u.Scheme == "" || u.Host == "" || u.Path != "" {
			return "origins", fmt.Sprintf("%q is not an origin; write scheme://host or scheme://host:port", o)
		}
	}
	return "", ""
}
