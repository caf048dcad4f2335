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
	form  norm.Form
	grows int
}

var normalForms = map[string]normalForm{"NFC": {norm.NFC, 3}, "NFD": {norm.NFD, 3}, "NFKC": {norm.NFKC, 11},
	"NFKD": {norm.NFKD, 11}}

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
	if err != nil || f.form.IsNormalString(a[0].S) {
		return a[0], err
	}
	if err := funcs.FitsText(env, f.grows*len(a[0].S)); err != nil {
		return types.Null, err
	}
	return types.NewText(f.form.String(a[0].S)), nil
}

func isNormalized(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
	f, err := formOf(a)
	return types.NewBool(err == nil && f.form.IsNormalString(a[0].S)), err
}

func init() {
	for _, args := range [][]types.OID{{types.Text}, {types.Text, types.Text}} {
		funcs.TextFamily.Function("normalize", types.Text, normalize, args...)
		funcs.TextFamily.Function("is_normalized", types.Bool, isNormalized, args...)
	}
}
