package page_test

import (
	"net/http/httptest"
	"testing"

	"github.com/divandb/divan/node/console/page"
	"github.com/divandb/divan/scripts/browser"
)

// module opens a page from which the modules can be imported.
func module(t *testing.T) *browser.Page {
	t.Helper()
	server := httptest.NewServer(page.Handler("/_dashboard/"))
	t.Cleanup(server.Close)
	p := browser.Start(t).Open(server.URL+"/_dashboard/js/json.js", browser.View{})
	t.Cleanup(p.Close)
	return p
}

// The word that is completed, at the end of statements.
func TestPage_words(t *testing.T) {
	p := module(t)
	for statement, want := range map[string]string{
		``: `|`, `SEL`: `|sel`, `SELECT * FROM by.cust`: `by|cust`, `SELECT * FROM "My Db" . "cu""s`: `My Db|cu"s`,
		`SELECT 'it''s' AS a, b`: `|b`, `SELECT 'abc fr`: ``, "-- fr": ``, "-- x\nfr": `|fr`, `/* a */ se`: `|se`,
		`SELECT $$ fr`: ``, `SELECT $x$ a'" $x$ fr`: `|fr`, `"a""b".c`: `a"b|c`,
	} {
		var got string
		p.Eval("import('/_dashboard/js/words.js').then(({ wordBefore }) => { const w = wordBefore("+quoted(statement)+
			", 1e9); return w ? w.owner + '|' + w.begun : '' })", &got)
		if got != want {
			t.Errorf("%q: %q, want %q", statement, got, want)
		}
	}
	var got []string
	p.Eval(`import('/_dashboard/js/words.js').then(({ aliased }) => [['SELECT o.x FROM by.customer AS o', 'o'],
		['SELECT * FROM docs d', 'd'], ['SELECT 1', 'x']].map(a => String(aliased(...a))))`, &got)
	if len(got) != 3 || got[0] != "by.customer" || got[1] != "docs" || got[2] != "undefined" {
		t.Errorf("the aliases stand for %q", got)
	}
}

// A long literal costs no more than as long a text of short words: it once took the square of its length.
func TestPage_longLiteral(t *testing.T) {
	var got struct{ Words, Literal float64 }
	module(t).Eval(`import('/_dashboard/js/completion.js').then(({ completion }) => {
		document.body.innerHTML = '<textarea></textarea><div></div>';
		const box = document.querySelector('textarea');
		completion(box, document.querySelector('div'), () => 'divan').end();
		const took = text => {
			box.value = text;
			const began = performance.now();
			for (let i = 0; i < 3; i++) box.dispatchEvent(new Event('input'));
			return performance.now() - began;
		};
		const n = 150000;
		return { words: took('select ' + 'zz, '.repeat(n / 4) + 'z'), literal: took("select '" + 'z'.repeat(n) + "' as z") };
	})`, &got)
	t.Logf("%+v ms", got)
	if got.Literal > 10*got.Words+2000 { // when it was quadratic it took minutes
		t.Errorf("a literal takes %v ms, words of its length %v ms", got.Literal, got.Words)
	}
}

// What is downloaded as JSON has no name twice in an object.
func TestPage_json(t *testing.T) {
	var got string
	module(t).Eval(`import('/_dashboard/js/results.js').then(({ json }) => json({ rows: [['1', '2', '3', '4']],
		columns: ['a', 'a', 'a_2', 'a'].map(name => ({ name, type: 'integer' })) }))`, &got)
	if want := "[\n{\"a\": 1, \"a_3\": 2, \"a_2\": 3, \"a_4\": 4}\n]\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What is downloaded as CSV is what was stored, also if a spreadsheet would take it for a formula.
func TestPage_csv(t *testing.T) {
	var got string
	module(t).Eval(`import('/_dashboard/js/results.js').then(({ csv }) => csv({ columns: [{ name: '-id', type: 'text' },
		{ name: 'a"b', type: 'jsonb' }, { name: 'i', type: 'interval' }, { name: 'n', type: 'bigint' }], rows: [
			['-rf', '-5', '-00:00:01', '-7'], ['=1+1', '"a,b"', '+1', null], ['@x', '\t', '', ' y '],
			['two\nlines', 'a\rb', "'", '0']] }))`, &got)
	if want := "-id,\"a\"\"b\",i,n\r\n-rf,-5,-00:00:01,-7\r\n=1+1,\"\"\"a,b\"\"\",+1,\r\n@x,\t,\"\", y \r\n" +
		"\"two\nlines\",\"a\rb\",',0\r\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	// Readers leave an empty line out: a NULL that is alone in its row is quoted.
	module(t).Eval(`import('/_dashboard/js/results.js').then(({ csv }) => csv({ columns: [{ name: 'a', type: 'text' }],
		rows: [['x'], [null], ['']] }))`, &got)
	if want := "a\r\nx\r\n\"\"\r\n\"\"\r\n"; got != want {
		t.Errorf("one column is %q, want %q", got, want)
	}
	// At \. alone in its line psql's \copy stops reading, as at the end.
	module(t).Eval(`import('/_dashboard/js/results.js').then(({ csv }) => csv({ columns: [{ name: 'a', type: 'text' }],
		rows: [['\\.'], ['\\.x'], ['x\\.'], ['']] }))`, &got)
	if want := "a\r\n\"\\.\"\r\n\\.x\r\nx\\.\r\n\"\"\r\n"; got != want {
		t.Errorf("the end of data is %q, want %q", got, want)
	}
}
