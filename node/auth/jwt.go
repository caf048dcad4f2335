package auth

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/divandb/divan/layer"
)

// JWTRules say which tokens are accepted (sections jwt_auth and jwt_keys of CouchDB's configuration).
type JWTRules struct {
	// Required are the claims that a token must have, and what is checked of them. Others are not looked at.
	Required []RequiredClaim
	// RolesName is the claim with the roles, and RolesPath, if set, the path of members to it.
	RolesName string
	RolesPath []string
	// Keys are the keys by their type and id, "hmac:ID", "rsa:ID" or "ec:ID", as jwt's methods take them. A key is only
	// used with the algorithms of its type, so that no public key can be taken for a secret.
	Keys map[string]any
}

// RequiredClaim is a claim that a token must have. Value is that of iss.
type RequiredClaim struct{ Name, Value string }

const (
	defaultRolesName = "_couchdb.roles"
	defaultKeyID     = "_default"
	// maxToken bounds a token in bytes. Headers are bounded too.
	maxToken = 32 << 10
)

func (j *JWTRules) setDefaults() {
	if j.Required == nil {
		j.Required = []RequiredClaim{{Name: "exp"}}
	}
	if j.RolesName == "" {
		j.RolesName = defaultRolesName
	}
}

// jwtMethods are the accepted algorithms, each with the type of its keys. There is no "none".
var jwtMethods = map[string]struct {
	keys   string
	method jwt.SigningMethod
}{
	"HS256": {"hmac", jwt.SigningMethodHS256}, "HS384": {"hmac", jwt.SigningMethodHS384},
	"HS512": {"hmac", jwt.SigningMethodHS512},
	"RS256": {"rsa", jwt.SigningMethodRS256}, "RS384": {"rsa", jwt.SigningMethodRS384},
	"RS512": {"rsa", jwt.SigningMethodRS512},
	"ES256": {"ec", jwt.SigningMethodES256}, "ES384": {"ec", jwt.SigningMethodES384},
	"ES512": {"ec", jwt.SigningMethodES512},
}

// The errors have CouchDB's reasons. None tells anything about a key.
var (
	errBadToken  = badRequest("Malformed token")
	errSignature = badRequest("Bad signature")
	errHMAC      = badRequest("Bad HMAC")
)

func unauthorized(reason string) error {
	return &layer.Error{Kind: layer.Unauthorized, Name: "unauthorized", Reason: reason}
}

// byToken returns the user of a bearer token. ok is false if the request has none. The name of the scheme may be in any
// case (RFC 9110, section 11.1).
func (v *visit) byToken() (u UserCtx, ok bool, err error) {
	scheme, token, ok := strings.Cut(v.r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return UserCtx{}, false, nil
	}
	claims, err := v.rules.JWT.verify(token, time.Now())
	if err != nil {
		return UserCtx{}, false, err
	}
	u.Handler = HandlerJWT
	if u.Roles, err = v.rules.JWT.roles(claims); err != nil {
		return UserCtx{}, false, err
	}
	subject, has := claims["sub"]
	if !has {
		return UserCtx{}, false, unauthorized("Token missing sub claim.")
	}
	if u.Name, ok = subject.(string); !ok || u.Name == "" {
		return UserCtx{}, false, errBadToken
	}
	return u, true, nil
}

// verify checks a token as CouchDB does, in the same order, and returns its claims.
func (j *JWTRules) verify(token string, now time.Time) (claims map[string]any, err error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 || len(token) > maxToken {
		return nil, errBadToken
	}
	header, err := tokenObject(parts[0])
	if err != nil {
		return nil, err
	}
	alg, _ := header["alg"].(string)
	if err := j.checkHeader(header, alg); err != nil {
		return nil, err
	}
	if claims, err = tokenObject(parts[1]); err != nil {
		return nil, err
	}
	for _, check := range []string{"iss", "iat", "nbf", "exp"} {
		for _, c := range j.Required {
			if c.Name != check {
				continue
			}
			if err := c.check(claims, now); err != nil {
				return nil, err
			}
		}
	}
	how := jwtMethods[alg]
	key, err := j.key(header, how.keys)
	if err != nil {
		return nil, err
	}
	wrong := errSignature
	if how.keys == "hmac" {
		wrong = errHMAC
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return nil, wrong
	}
	if err := how.method.Verify(parts[0]+"."+parts[1], signature, key); err != nil {
		return nil, wrong
	}
	return claims, nil
}

// tokenObject decodes a part of a token.
func tokenObject(part string) (map[string]any, error) {
	text, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return nil, errBadToken
	}
	var value any
	if json.Unmarshal(text, &value) != nil {
		return nil, errBadToken
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, badRequest("Not an object")
	}
	return object, nil
}

func (j *JWTRules) requires(name string) bool {
	return slices.ContainsFunc(j.Required, func(c RequiredClaim) bool { return c.Name == name })
}

func (j *JWTRules) checkHeader(header map[string]any, alg string) error {
	typ, has := header["typ"]
	switch {
	case !has && j.requires("typ"):
		return badRequest("Missing typ header parameter")
	case has && typ != "JWT":
		return badRequest("Invalid typ header parameter")
	case header["alg"] == nil:
		return badRequest("Missing alg header parameter")
	case jwtMethods[alg].method == nil:
		return badRequest("Invalid alg header parameter")
	}
	return nil
}

// check checks one claim of the payload.
func (c RequiredClaim) check(claims map[string]any, now time.Time) error {
	value, has := claims[c.Name]
	if !has {
		return badRequest("Missing " + c.Name + " claim")
	}
	number, isNumber := value.(float64)
	at := float64(now.Unix())
	switch c.Name {
	case "iss":
		if value != any(c.Value) {
			return badRequest("Invalid iss claim")
		}
	case "iat":
		if !isNumber || number != math.Trunc(number) {
			return badRequest("Invalid iat claim")
		}
	case "nbf":
		if !isNumber || number >= at {
			return unauthorized("nbf not in past")
		}
	case "exp":
		if !isNumber || number <= at {
			return unauthorized("exp not in future")
		}
	}
	return nil
}

// key returns the key that the header names, for algorithms of a type.
func (j *JWTRules) key(header map[string]any, typ string) (any, error) {
	id, isText := header["kid"].(string)
	switch {
	case header["kid"] == nil && j.requires("kid"):
		return nil, badRequest("Missing kid claim")
	case header["kid"] == nil:
		id = defaultKeyID
	case !isText:
		return nil, badRequest("Unknown kid")
	}
	key, ok := j.Keys[typ+":"+id]
	if !ok {
		return nil, badRequest("Unknown kid")
	}
	return key, nil
}

// roles returns the roles in a token: a list of texts, or a text with commas.
func (j *JWTRules) roles(claims map[string]any) ([]string, error) {
	found, has := claims[j.RolesName]
	if j.RolesPath != nil {
		has, found = true, any(claims)
		for _, name := range j.RolesPath {
			object, ok := found.(map[string]any)
			if !ok {
				return nil, &layer.Error{Kind: layer.NotFound, Name: "not_found", Reason: "json_mismatch"}
			}
			if found, ok = object[name]; !ok || found == nil {
				return nil, &layer.Error{Kind: layer.NotFound, Name: "not_found",
					Reason: "missing json key: " + name}
			}
		}
	}
	if !has {
		return []string{}, nil
	}
	switch found := found.(type) {
	case string:
		return splitRoles(found), nil
	case []any:
		roles := make([]string, 0, len(found))
		for _, one := range found {
			role, ok := one.(string)
			if !ok {
				return nil, errBadToken
			}
			roles = append(roles, role)
		}
		return roles, nil
	}
	return nil, errBadToken
}
