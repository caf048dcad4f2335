package auth

import "errors"

// What can be wrong with an option. The texts continue "chttpd_auth/timeout: ".
var (
	errNoBool          = errors.New("it is neither true nor false")
	errSameSite        = errors.New("there are lax, strict and none")
	errNoSecret        = errors.New("an empty secret signs nothing")
	errScheme          = errors.New("new passwords are hashed with pbkdf2; others are only read")
	errPRF             = errors.New("there are sha, sha224, sha256, sha384 and sha512")
	errNoUsersDatabase = errors.New("it is neither _users nor a database whose name ends in /_users")
	errNoHeader        = errors.New("it is not the name of a header")
	errLockoutMode     = errors.New("there are off, warn and enforce")
	errNoDomain        = errors.New("it is not the name of a domain")
	errHandlers        = errors.New("there are {chttpd_auth, NAME_authentication_handler} for cookie, default, jwt " +
		"and proxy, each at most once")
	errHashes  = errors.New("there are sha, sha224, sha256, sha384, sha512 and sha3_224 to sha3_512")
	errClaims  = errors.New(`there are exp, nbf, iat, kid, typ and {iss, "ISSUER"}`)
	errKeyName = errors.New("the name of a key is hmac:ID, rsa:ID or ec:ID; the ID _default is for tokens without one")
	errHMACKey = errors.New("it is not the base64 of a secret")
	errRSAKey  = errors.New("it is not an RSA public key in PEM")
	errECKey   = errors.New("it is not an EC public key in PEM, of P-256, P-384 or P-521")
	errTerm    = errors.New("it is not a list of Erlang terms")
	errRegexps = errors.New(`it is not a list of regular expressions, "RE" or {"RE", "reason"}`)
)
