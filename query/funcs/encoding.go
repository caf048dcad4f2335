package funcs

import (
	"github.com/divandb/divan/query/charset"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

func init() {
	convert := func(env *exec.CallEnv, s, src, dst string) (string, error) {
		from, err := findEncoding(src, "source")
		if err != nil {
			return "", err
		}
		to, err := findEncoding(dst, "destination")
		if err != nil {
			return "", err
		}
		if err := env.Bytes(len(s)); err != nil {
			return "", err
		}
		return recode(env, s, from, to)
	}
	TextFamily.Function("convert_from", types.Text, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		s, err := convert(env, a[0].S, a[1].S, "UTF8")
		return types.NewText(s), err
	}, types.Bytea, types.Name)
	bytesOf := func(s string, err error) (types.Datum, error) { return types.Datum{K: types.KBytes, S: s}, err }
	TextFamily.Function("convert_to", types.Bytea, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return bytesOf(convert(env, a[0].S, "UTF8", a[1].S))
	}, types.Text, types.Name)
	TextFamily.Function("length", types.Int4, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		e, err := findEncoding(a[1].S, "")
		if err != nil {
			return types.Null, sqlstate.New(sqlstate.InvalidParameterValue, "invalid encoding name \"%s\"", a[1].S)
		}
		if err := e.Check(a[0].S); err != nil {
			return types.Null, err
		}
		return types.NewInt(int64(e.Length(a[0].S))), nil
	}, types.Bytea, types.Name)
	TextFamily.Function("convert", types.Bytea, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return bytesOf(convert(env, a[0].S, a[1].S, a[2].S))
	}, types.Bytea, types.Name, types.Name)
}

func findEncoding(name, what string) (*charset.Encoding, error) {
	e, ok := charset.Find(name)
	switch {
	case !ok:
		return nil, sqlstate.New(sqlstate.InvalidParameterValue, "invalid %s encoding name \"%s\"", what, name)
	case e == nil:
		return nil, sqlstate.New(sqlstate.FeatureNotSupported, "encoding \"%s\" is not supported", name).
			WithHint("UTF8, the sets of one byte for each character, SJIS, GBK, UHC and EUC_KR are supported.")
	}
	return e, nil
}

// recode converts a text from one character set to another. One of them must be UTF8, or both the same.
func recode(env *exec.CallEnv, s string, from, to *charset.Encoding) (string, error) {
	switch {
	case from == charset.ASCII:
		return s, to.Check(s)
	case from == to, to == charset.ASCII:
		return s, from.Check(s)
	case from.Converts() && to.Converts():
		return "", sqlstate.New(sqlstate.UndefinedFunction,
			"default conversion function for encoding \"%s\" to \"%s\" does not exist", from.Name(), to.Name())
	}
	if err := env.Room(3 * int64(len(s))); err != nil {
		return "", err
	}
	if err := from.Check(s); err != nil {
		return "", err
	}
	if from.Converts() {
		return from.Decode(s)
	}
	out, err := to.Encode(nil, s)
	return string(out), err
}
