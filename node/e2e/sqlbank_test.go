package e2e_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// accounts, each with as much cash as savings at the beginning.
const accounts, opening = 150, 5

// bank is a database of accounts whose total never changes.
type bank struct {
	t  *testing.T
	mu sync.Mutex
	// done counts what succeeded, by kind; refused counts SQLSTATEs and statuses.
	done, refused map[string]int
}

func account() string { return fmt.Sprintf("a%03d", rand.IntN(accounts)) }

// total checks a sum that a client has read.
func (b *bank) total(kind string, sum int, err error) {
	if err != nil {
		b.moved(kind, err)
		return
	}
	if want := 2 * opening * accounts; sum != want {
		b.t.Errorf("%s: the sum is %d, not %d", kind, sum, want)
	}
	b.count(b.done, kind)
}

// moved notes a transfer or an error. Conflicts and overdrawn accounts are expected.
func (b *bank) moved(kind string, err error) {
	switch code := sqlCode(err); {
	case err == nil:
		b.count(b.done, kind)
	case code == "40001", code == "23514":
		b.count(b.refused, code)
	default:
		b.t.Errorf("%s: %v", kind, err)
	}
}

func (b *bank) count(in map[string]int, kind string) {
	b.mu.Lock()
	in[kind]++
	b.mu.Unlock()
}

// enough reports whether the clients may end: after three seconds, or later on a slow machine, until each kind of
// transfer and of sum has been done, and an account would have been overdrawn.
func (b *bank) enough(took time.Duration) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return took > time.Minute || took > 3*time.Second && len(b.done) == 13 && b.refused["23514"] > 0
}

// TestSQL_Bank has 16 clients, half of them over HTTP, that move money between accounts and add it up at the same time.
// The sum is the same in every read of every client: of documents, a list, a query, a view, its reduction, and a sum in
// SQL that is computed from the view. A validation function refuses to overdraw an account.
func TestSQL_Bank(t *testing.T) {
	p := start(t, t.TempDir())
	c := p.client()
	c.ok("PUT", "/bank", "")
	c.ok("PUT", "/bank/_design/money", `{"views":{
		"all":{"map":"function (doc) { emit(doc._id, doc.cash + doc.savings) }","reduce":"_sum"},
		"cash":{"map":"function (doc) { if (doc.type === 'account') emit(doc._id, [doc.cash, doc.savings]) }",
			"reduce":"_sum"}},
		"validate_doc_update":"function (doc) { if (doc.cash < 0 || doc.savings < 0) throw {forbidden: 'overdrawn'} }"}`)
	setup := connect(t, p, "bank", "ann")
	if _, err := setup.Exec(t.Context(), `INSERT INTO docs (id, doc) SELECT 'a' || to_char(n, 'FM000'),
		jsonb_build_object('type', 'account', 'cash', $1::int, 'savings', $1::int) FROM generate_series(0, $2 - 1) n`,
		opening, accounts); err != nil {
		t.Fatal(err)
	}
	b := &bank{t: t, done: map[string]int{}, refused: map[string]int{}}
	begun := time.Now()
	var wg sync.WaitGroup
	client := func(steps ...func()) {
		wg.Go(func() {
			for !t.Failed() && !b.enough(time.Since(begun)) {
				steps[rand.IntN(len(steps))]()
			}
		})
	}
	for range 8 {
		s := &sqlTeller{bank: b, conn: connect(t, p, "bank", "ann")}
		client(s.statement, s.block, s.locked, s.batch, s.sum, s.sumTwice, s.sumView, s.sumJoined)
		h := &httpTeller{bank: b, c: p.client()}
		client(h.move, h.move, h.list, h.find, h.view, h.reduction)
	}
	wg.Wait()
	t.Logf("%v, refused %v", b.done, b.refused)
	if len(b.done) != 13 {
		t.Errorf("not everything was done: %v", b.done)
	}
	if b.refused["23514"] == 0 {
		t.Error("no account was overdrawn")
	}
}

// sqlTeller is a client of a bank over SQL.
type sqlTeller struct {
	*bank
	conn *pgx.Conn
}

// statement moves money by one statement.
func (s *sqlTeller) statement() {
	_, err := s.conn.Exec(s.t.Context(), `UPDATE docs SET doc['cash'] = to_jsonb((doc->>'cash')::int + v.n)
		FROM (VALUES ($1, -$3::int), ($2, $3::int)) v(k, n) WHERE id = v.k AND $1 <> $2`,
		account(), account(), 1+rand.IntN(3))
	s.moved("one statement", err)
}

// block reads two accounts and writes them, serialisably.
func (s *sqlTeller) block() {
	s.moved("a block", s.transfer(pgx.TxOptions{IsoLevel: pgx.Serializable}, ""))
}

// locked reads two accounts with locks, as clients of PostgreSQL do at its usual isolation.
func (s *sqlTeller) locked() { s.moved("with locks", s.transfer(pgx.TxOptions{}, " FOR UPDATE")) }

func (s *sqlTeller) transfer(o pgx.TxOptions, lock string) error {
	ctx := s.t.Context()
	from, to := account(), account()
	if from == to {
		return nil
	}
	return pgx.BeginTxFunc(ctx, s.conn, o, func(tx pgx.Tx) error {
		savings := map[string]int{}
		rows, err := tx.Query(ctx, "SELECT id, (doc->>'savings')::int FROM docs WHERE id IN ($1, $2)"+lock, from, to)
		if err != nil {
			return err
		}
		var id string
		var n int
		if _, err := pgx.ForEachRow(rows, []any{&id, &n}, func() error { savings[id] = n; return nil }); err != nil {
			return err
		}
		const set = `UPDATE docs SET doc = jsonb_set(doc, '{savings}', to_jsonb($2::int)) WHERE id = $1`
		if _, err := tx.Exec(ctx, set, from, savings[from]-1); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, set, to, savings[to]+1)
		return err
	})
}

// batch sends two statements in one message, which are one transaction. It deletes an account and opens it again with
// the money of another.
func (s *sqlTeller) batch() {
	from, to := account(), account()
	if from == to {
		return
	}
	_, err := s.conn.PgConn().Exec(s.t.Context(), fmt.Sprintf(`
		INSERT INTO docs (id, doc['type'], doc['cash'], doc['savings'])
			SELECT '%[2]s', '"account"', to_jsonb((a.doc->>'cash')::int + (b.doc->>'cash')::int),
				to_jsonb((a.doc->>'savings')::int + (b.doc->>'savings')::int)
			FROM docs a, docs b WHERE a.id = '%[1]s' AND b.id = '%[2]s'
		ON CONFLICT (id) DO UPDATE SET doc = excluded.doc;
		UPDATE docs SET doc = doc || '{"cash": 0, "savings": 0}' WHERE id = '%[1]s'`, from, to)).ReadAll()
	s.moved("a batch", err)
}

func (s *sqlTeller) read(kind, sql string) {
	var sum int
	err := s.conn.QueryRow(s.t.Context(), sql).Scan(&sum)
	s.total(kind, sum, err)
}

func (s *sqlTeller) sum() {
	s.read("sum", "SELECT sum((doc->>'cash')::int + (doc->>'savings')::int) FROM docs")
}

// sumTwice adds up by two statements of a transaction.
func (s *sqlTeller) sumTwice() {
	var cash, savings int
	err := pgx.BeginTxFunc(s.t.Context(), s.conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
		err := tx.QueryRow(s.t.Context(), "SELECT sum((doc->>'cash')::int) FROM docs").Scan(&cash)
		if err != nil {
			return err
		}
		return tx.QueryRow(s.t.Context(), "SELECT sum((doc->>'savings')::int) FROM docs").Scan(&savings)
	})
	s.total("sum of two statements", cash+savings, err)
}

func (s *sqlTeller) sumView() {
	s.read("sum of a view", `SELECT sum(value::int) FROM money.all`)
}

// sumJoined reads the documents and the view in one statement. In a transaction with a snapshot the view is of the same
// moment, or refused.
func (s *sqlTeller) sumJoined() {
	var sum int
	err := pgx.BeginTxFunc(s.t.Context(), s.conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
		return tx.QueryRow(s.t.Context(), `SELECT sum((v.value->>0)::int + (d.doc->>'savings')::int)
			FROM money.cash v JOIN docs d USING (id)`).Scan(&sum)
	})
	s.total("sum of a join", sum, err)
}

// httpTeller is a client of a bank over HTTP.
type httpTeller struct {
	*bank
	c *client
}

// move moves money within an account, which is all that one edit can do.
func (h *httpTeller) move() {
	doc := h.c.object("GET", "/bank/"+account(), "")
	cash, savings := number(doc["cash"]), number(doc["savings"])
	n := rand.IntN(5) - 2
	body := fmt.Sprintf(`{"_rev":%q,"type":"account","cash":%d,"savings":%d}`, doc["_rev"], cash+n, savings-n)
	switch status := h.c.status("PUT", "/bank/"+doc["_id"].(string), body); status {
	case http.StatusCreated:
		h.count(h.done, "an edit")
	case http.StatusConflict, http.StatusForbidden:
		h.count(h.refused, fmt.Sprint(status))
	default:
		h.t.Errorf("PUT: %d", status)
	}
}

// number returns a number of an answer; 0 for another value.
func number(v any) int {
	n, _ := v.(json.Number)
	i, _ := n.Int64()
	return int(i)
}

// money adds up the members of an object.
func money(of map[string]any) int { return number(of["cash"]) + number(of["savings"]) }

func (h *httpTeller) list() {
	sum := 0
	for _, r := range h.c.object("GET", "/bank/_all_docs?include_docs=true", "")["rows"].([]any) {
		sum += money(r.(map[string]any)["doc"].(map[string]any))
	}
	h.total("a list", sum, nil)
}

func (h *httpTeller) find() {
	sum := 0
	for _, d := range h.c.object("POST", "/bank/_find", `{"selector":{"type":"account"},"limit":1000}`)["docs"].([]any) {
		sum += money(d.(map[string]any))
	}
	h.total("a query", sum, nil)
}

func (h *httpTeller) view() {
	sum := 0
	for _, r := range h.c.object("GET", "/bank/_design/money/_view/all?reduce=false", "")["rows"].([]any) {
		sum += number(r.(map[string]any)["value"])
	}
	h.total("a view", sum, nil)
}

func (h *httpTeller) reduction() {
	rows := h.c.object("GET", "/bank/_design/money/_view/cash", "")["rows"].([]any)
	sum := 0
	for _, n := range rows[0].(map[string]any)["value"].([]any) {
		sum += number(n)
	}
	h.total("a reduction", sum, nil)
}
