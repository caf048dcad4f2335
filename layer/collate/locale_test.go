package collate_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/jackc/pgx/v5"

	"github.com/divandb/divan/layer/collate"
)

var recordLocales = flag.Bool("record-locales", false, "record the orders of languages that a real PostgreSQL has")

const localeAnswers = "testdata/locales.gz"

// measuredTags are one locale of each table, and the options.
var measuredTags = strings.Fields(`und de fr-FR af cs cy ee eo es fil fo gl ha hu ig is kl ln lt nb nn no om pl ro sk sl sq sv tr yo
	en-u-kn-true und-u-ks-level1 sv-u-ks-level2-kn-true hu-u-kn-true cs-u-ks-level1`)

// localeWords returns the texts whose order is compared: letters alone, between others and at the end, all pairs of
// ASCII letters in three cases, the longer letters of Hungarian, accents, punctuation, numbers, and other scripts.
func localeWords() []string {
	var out []string
	add := func(w ...string) { out = append(out, w...) }
	for r := rune(0xA1); r <= 0x17F; r++ {
		if unicode.IsLetter(r) && !slices.Contains([]rune{0x13F, 0x140, 0x149, 0x17F}, r) {
			add(string(r), "o"+string(r)+"o", "b"+string(r))
		}
	}
	for a := 'a'; a <= 'z'; a++ {
		add(string(a), strings.ToUpper(string(a)))
		for b := 'a'; b <= 'z'; b++ {
			s := string(a) + string(b)
			add(s, strings.ToUpper(s), strings.ToUpper(s[:1])+s[1:])
		}
	}
	for _, c := range strings.Fields("dzs ccs ddz ggy lly nny ssz tty zzs ngg aaa ddzs") {
		add(c, strings.ToUpper(c), c+"a", "o"+c+"u")
	}
	for r := rune(0x391); r <= 0x44F; r++ {
		if unicode.IsLetter(r) && (r <= 0x3C9 || r >= 0x410) && unicode.In(r, unicode.Greek, unicode.Cyrillic) {
			add(string(r))
		}
	}
	add(strings.Split("resume résumé Resume Résumé RÉSUMÉ co-op coop CO-OP 0 1 9 10 a1 a2 a10 - _ ab a-b a_b 中 文 ひ "+
		"カ 한 א ب ก 😀 x中 файл Файл ελλά "+
		"a2b a10b a02b a002 file9 file10 file9a № € … SS straße strasse 007 7 70 1.5 1.25", " ")...)
	add("", " ", "co op", "a b", "a  b", "file 9", "file 10")
	slices.Sort(out)
	return slices.Compact(out)
}

// TestLocale_Words compares the order of some 2,900 texts in every table with the order in PostgreSQL 15 with ICU 72.
func TestLocale_Words(t *testing.T) {
	if *recordLocales {
		recordAnswers(t)
	}
	words := localeWords()
	data := gunzip(t, localeAnswers)
	if len(data) != 2*len(words)*len(measuredTags) {
		t.Fatalf("%d bytes of answers, want those of %d words in %d locales", len(data), len(words), len(measuredTags))
	}
	for _, tag := range measuredTags {
		o, err := collate.Locale(tag)
		if err != nil {
			t.Fatal(err)
		}
		var sorted []string
		for range words {
			sorted = append(sorted, words[binary.BigEndian.Uint16(data)])
			data = data[2:]
		}
		checkOrder(t, o, sorted)
	}
}

// checkOrder compares neighbours, directly and by their keys.
func checkOrder(t *testing.T, o *collate.LocaleOrder, sorted []string) {
	t.Helper()
	for i := 1; i < len(sorted); i++ {
		a, b := sorted[i-1], sorted[i]
		if c := o.Compare(a, b); c != -1 {
			t.Errorf("%s: %q against %q: %d, PostgreSQL says -1", o, a, b, c)
		}
		if c := o.Compare(b, a); c != 1 {
			t.Errorf("%s: %q against %q: %d, PostgreSQL says 1", o, b, a, c)
		}
		if c := bytes.Compare(o.AppendKey(nil, a), o.AppendKey(nil, b)); c != -1 {
			t.Errorf("%s: key of %q against %q: %d", o, a, b, c)
		}
	}
}

// TestLocale_Postgres asks a running PostgreSQL for the order of the words in every supported locale, and checks that
// it has exactly the listed locales.
func TestLocale_Postgres(t *testing.T) {
	conn := livePostgres(t)
	supported, refused := collate.Locales()
	var names []string
	if err := conn.QueryRow(t.Context(),
		`SELECT array_agg(colliculocale::text) FROM pg_collation WHERE collprovider = 'i'`).Scan(&names); err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	listed := slices.Concat(supported, refused)
	slices.Sort(listed)
	if !slices.Equal(names, listed) {
		t.Errorf("PostgreSQL has %d locales, we list %d", len(names), len(listed))
	}
	for _, tag := range supported {
		o, err := collate.Locale(tag)
		if err != nil {
			t.Fatal(err)
		}
		checkOrder(t, o, postgresOrder(t, conn, tag))
	}
}

func livePostgres(t *testing.T) *pgx.Conn {
	t.Helper()
	url := os.Getenv("DIVAN_TEST_POSTGRES")
	if url == "" {
		t.Skip("needs DIVAN_TEST_POSTGRES, the URL of a PostgreSQL 15 with ICU")
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func postgresOrder(t *testing.T, conn *pgx.Conn, tag string) (sorted []string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), `DROP COLLATION IF EXISTS pg_temp.measured;
		CREATE COLLATION pg_temp.measured (provider = icu, locale = '`+tag+`')`); err != nil {
		t.Fatal(err)
	}
	err := conn.QueryRow(t.Context(),
		`SELECT array_agg(w ORDER BY w COLLATE pg_temp.measured) FROM unnest($1::text[]) w`,
		pgx.QueryExecModeExec, localeWords()).Scan(&sorted)
	if err != nil {
		t.Fatal(tag, err)
	}
	return sorted
}

func recordAnswers(t *testing.T) {
	conn := livePostgres(t)
	words := localeWords()
	var file bytes.Buffer
	z, err := gzip.NewWriterLevel(&file, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	for _, tag := range measuredTags {
		for _, w := range postgresOrder(t, conn, tag) {
			i, _ := slices.BinarySearch(words, w)
			if _, err := z.Write(binary.BigEndian.AppendUint16(nil, uint16(i))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(localeAnswers, file.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestLocale_Alphabets(t *testing.T) {
	for tag, want := range map[string]string{
		"sv":           "ö a z å ä|a z å ä ö",
		"de":           "z ä a ö|a ä ö z",
		"nb":           "aa z a æ ø å|a z æ ø å aa",
		"es":           "nz ñ n o|n nz ñ o",
		"cs":           "ch c h i|c h ch i",
		"tr":           "i ı h j|h ı i j",
		"en-u-kn-true": "f10 f9 f1 f09|f1 f09 f9 f10",
	} {
		given, sorted, _ := strings.Cut(want, "|")
		o, err := collate.Locale(tag)
		if err != nil {
			t.Fatal(err)
		}
		words := strings.Fields(given)
		slices.SortFunc(words, o.Compare)
		if got := strings.Join(words, " "); got != sorted {
			t.Errorf("%s: %s, want %s", tag, got, sorted)
		}
	}
}

func TestLocale_Refused(t *testing.T) {
	for tag, want := range map[string]error{
		"xx": collate.ErrUnknownLocale, "": collate.ErrUnknownLocale, "SV": collate.ErrUnknownLocale,
		"sv-XX":               collate.ErrUnknownLocale,
		"root":                collate.ErrUnknownLocale,
		"ru":                  collate.ErrUnsupportedLocale, // Cyrillic sorts first
		"da":                  collate.ErrUnsupportedLocale, // upper case sorts first
		"de-u-co-phonebk":     collate.ErrUnsupportedLocale, // CLDR 23 swaps ä and æ
		"sv-u-kf-upper":       collate.ErrUnsupportedLocale,
		"sv-u-kn-true-kn":     collate.ErrUnsupportedLocale,
		"sv-u-":               collate.ErrUnsupportedLocale,
		"en-US-u-va-posix":    collate.ErrUnsupportedLocale,
		"en-u-ks-level4":      collate.ErrUnsupportedLocale,
		"en-u-kn-true-x-what": collate.ErrUnsupportedLocale,
	} {
		if _, err := collate.Locale(tag); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", tag, err, want)
		}
	}
}

// TestLocaleOrder_Broken checks that invalid UTF-8 is ordered consistently.
func TestLocaleOrder_Broken(t *testing.T) {
	for _, tag := range []string{"und", "sv", "sv-u-kn-true"} {
		o, err := collate.Locale(tag)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range []string{"a\xff", "\xed\xa0\x80", "a\x00b", "\xff\xfe"} {
			for _, other := range []string{"a", "a\uFFFD", "z", "å"} {
				c := o.Compare(w, other)
				if c == 0 || o.Compare(other, w) != -c ||
					bytes.Compare(o.AppendKey(nil, w), o.AppendKey(nil, other)) != c {
					t.Errorf("%s: %q against %q is %d, but not when swapped or by key", tag, w, other,
						c)
				}
			}
		}
	}
}

func TestLocaleOrder_Concurrent(t *testing.T) {
	o, err := collate.Locale("sv")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 500 {
				if o.Compare("ånga", "zebra") != 1 ||
					bytes.Compare(o.AppendKey(nil, "äta"), o.AppendKey(nil, "öka")) != -1 {
					t.Error("wrong order")
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkLocaleOrder_Compare(b *testing.B) {
	for _, tag := range []string{"de", "sv"} {
		o, err := collate.Locale(tag)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(tag, func(b *testing.B) {
			for b.Loop() {
				o.Compare("Göteborgs kommun", "Göteborgs skärgård")
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
		})
	}
}
