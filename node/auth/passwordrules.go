package auth

import (
	"time"

	"github.com/dlclark/regexp2"
)

// PasswordRules are regular expressions that a new password of a user must match, all of them (CouchDB's
// password_regexp). They are Perl's, as in CouchDB: such rules use lookahead, which package regexp does not have.
type PasswordRules []passwordRule

type passwordRule struct {
	re     *regexp2.Regexp
	reason string
}

const (
	// matchTime bounds the time of one regular expression, which can be exponential. A password for which it does not
	// suffice is refused.
	matchTime = 200 * time.Millisecond
	// maxPasswordRules bounds the number of regular expressions.
	maxPasswordRules = 32
)

// check returns an error for a password that does not conform.
func (rules PasswordRules) check(password string) error {
	for _, rule := range rules {
		if ok, err := rule.re.MatchString(password); err != nil || !ok {
			return badRequest(rule.reason)
		}
	}
	return nil
}

const passwordRefused = "Password does not conform to requirements."

func readPasswordRules(r *Rules, _, value string) error {
	if value == "" {
		r.Passwords = nil
		return nil
	}
	list, err := parseTerms(value)
	if err != nil || list.kind != termList || len(list.items) > maxPasswordRules {
		return errRegexps
	}
	var rules PasswordRules
	for _, t := range list.items {
		rule := passwordRule{reason: passwordRefused}
		pattern := t
		if t.kind == termTuple && len(t.items) > 0 && len(t.items) <= 2 {
			pattern = t.items[0]
			if len(t.items) == 2 && t.items[1].kind == termString && t.items[1].text != "" {
				rule.reason += " " + t.items[1].text
			}
		}
		if pattern.kind != termString {
			return errRegexps
		}
		if rule.re, err = regexp2.Compile(pattern.text, regexp2.None); err != nil {
			return errRegexps
		}
		rule.re.MatchTimeout = matchTime
		rules = append(rules, rule)
	}
	r.Passwords = rules
	return nil
}
