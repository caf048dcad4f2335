package auth

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

// readClaims reads required_claims: names, and {iss, "ISSUER"}.
func readClaims(r *Rules, _, value string) error {
	claims := []RequiredClaim{}
	if strings.TrimSpace(value) != "" {
		list, err := parseTerms("[" + value + "]")
		if err != nil {
			return errClaims
		}
		for _, t := range list.items {
			claim, ok := readClaim(t)
			if !ok || slices.ContainsFunc(claims, func(c RequiredClaim) bool { return c.Name == claim.Name }) {
				return errClaims
			}
			claims = append(claims, claim)
		}
	}
	r.JWT.Required = claims
	return nil
}

func readClaim(t term) (RequiredClaim, bool) {
	switch t.kind {
	case termAtom:
		return RequiredClaim{Name: t.text}, slices.Contains([]string{"exp", "nbf", "iat", "kid", "typ"}, t.text)
	case termTuple:
		if len(t.items) == 2 && t.items[0].kind == termAtom && t.items[0].text == "iss" &&
			t.items[1].kind == termString && t.items[1].text != "" {
			return RequiredClaim{Name: "iss", Value: t.items[1].text}, true
		}
	}
	return RequiredClaim{}, false
}

// rolesPath splits a path at its dots; "\." is a dot in a name.
func rolesPath(path string) []string {
	var names []string
	var name strings.Builder
	for i := 0; i < len(path); i++ {
		switch {
		case path[i] == '\\' && i+1 < len(path) && path[i+1] == '.':
			name.WriteByte('.')
			i++
		case path[i] == '.':
			names = append(names, name.String())
			name.Reset()
		default:
			name.WriteByte(path[i])
		}
	}
	return append(names, name.String())
}

// readKey reads a key of section jwt_keys: the base64 of a secret, or a public key in PEM, with \n for line breaks.
func readKey(r *Rules, name, value string) error {
	typ, id, ok := strings.Cut(name, ":")
	if !ok || id == "" {
		return errKeyName
	}
	var key any
	pem := []byte(strings.ReplaceAll(value, `\n`, "\n"))
	switch typ {
	case "hmac":
		secret, err := base64.StdEncoding.DecodeString(strings.TrimSpace(value))
		if err != nil || len(secret) == 0 {
			return errHMACKey
		}
		key = secret
	case "rsa":
		public, err := jwt.ParseRSAPublicKeyFromPEM(pem)
		if err != nil {
			return errRSAKey
		}
		key = public
	case "ec":
		public, err := jwt.ParseECPublicKeyFromPEM(pem)
		if err != nil || public.Curve.Params().BitSize < 256 {
			return errECKey
		}
		key = public
	default:
		return errKeyName
	}
	keys := map[string]any{name: key}
	for other, k := range r.JWT.Keys {
		if other != name {
			keys[other] = k
		}
	}
	r.JWT.Keys = keys
	return nil
}

// IsSecretKey reports whether an option of section jwt_keys is a secret, which must not be shown.
func IsSecretKey(name string) bool { return strings.HasPrefix(name, "hmac:") }
