package catalog

import (
	"slices"
	"strings"

	"github.com/divandb/divan/query/charset"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/types"
)

// encodings are PostgreSQL's character sets by number.
var encodings = strings.Fields(`SQL_ASCII EUC_JP EUC_CN EUC_KR EUC_TW EUC_JIS_2004 UTF8 MULE_INTERNAL
	LATIN1 LATIN2 LATIN3 LATIN4 LATIN5 LATIN6 LATIN7 LATIN8 LATIN9 LATIN10
	WIN1256 WIN1258 WIN866 WIN874 KOI8R WIN1251 WIN1252 ISO_8859_5 ISO_8859_6 ISO_8859_7 ISO_8859_8
	WIN1250 WIN1253 WIN1254 WIN1255 WIN1257 KOI8U SJIS BIG5 GBK UHC GB18030 JOHAB SHIFT_JIS_2004`)

// longest has the bytes of a character in the sets that have more than one.
var longest = map[string]int64{"EUC_JP": 3, "EUC_CN": 3, "EUC_KR": 3, "EUC_TW": 4, "EUC_JIS_2004": 3, "UTF8": 4,
	"MULE_INTERNAL": 4, "SJIS": 2, "BIG5": 2, "GBK": 2, "UHC": 2, "GB18030": 4, "JOHAB": 3, "SHIFT_JIS_2004": 2}

// encodingNames adds functions about character sets.
func encodingNames() {
	name := func(number int64) string {
		if number < 0 || number >= int64(len(encodings)) {
			return ""
		}
		return encodings[number]
	}
	register("pg_encoding_to_char", types.Name, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return types.NewText(name(a[0].I)), nil
	}, types.Int4)
	register("pg_char_to_encoding", types.Int4, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		if _, ok := charset.Find(a[0].S); !ok {
			return types.NewInt(-1), nil
		}
		return types.NewInt(int64(slices.Index(encodings, charset.Canonical(a[0].S)))), nil
	}, types.Name)
	register("pg_encoding_max_length", types.Int4, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		set := name(a[0].I)
		if set == "" {
			return types.Null, nil
		}
		return types.NewInt(max(1, longest[set])), nil
	}, types.Int4)
}
