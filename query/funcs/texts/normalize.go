package texts

import (
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// normalForm is a Unicode normalization form, and the factor by which it can lengthen a UTF-8 text.
type normalForm struct {
	form, decomposed norm.Form // the latter without its last step, composition
	grows            int
}

var normalForms = map[string]normalForm{"NFC": {norm.NFC, norm.NFD, 3}, "NFD": {norm.NFD, norm.NFD, 3},
	"NFKC": {norm.NFKC, norm.NFKD, 11}, "NFKD": {norm.NFKD, norm.NFKD, 11}}

// formOf returns the form named by the second argument.
func formOf(a []types.Datum) (normalForm, error) {
	name := "NFC"
	if len(a) > 1 {
		name = a[1].S
	}
	f, ok := normalForms[strings.ToUpper(name)]
	if !ok {
		return f, sqlstate.New(sqlstate.InvalidParameterValue, "invalid normalization form: %s", name)
	}
	return f, nil
}

func normalize(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
	f, err := formOf(a)
	if err != nil {
		return types.Null, err
	}
	s, err := f.normal(env, a[0].S)
	return types.NewText(s), err
}

func isNormalized(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
	f, err := formOf(a)
	if err != nil {
		return types.Null, err
	}
	s, err := f.normal(env, a[0].S)
	return types.NewBool(s == a[0].S), err
}

func init() {
	for _, args := range [][]types.OID{{types.Text}, {types.Text, types.Text}} {
		funcs.TextFamily.Function("normalize", types.Text, normalize, args...)
		funcs.TextFamily.Function("is_normalized", types.Bool, isNormalized, args...)
	}
}
