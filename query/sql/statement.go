package sql

import (
	"strings"

	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/work"
)

// Statement is a parsed statement: one of the types below. It is immutable and may be bound many times.
type Statement interface{ statement() }

// Query is a SELECT (or VALUES, TABLE, WITH ... SELECT).
type Query struct{ sel *selectStmt }

// Explain is EXPLAIN of a query.
type Explain struct {
	Query   *Query
	Analyze bool
	Verbose bool
	Format  string // "text" or "json"
	Timing  bool
}

// Copy is COPY ... TO STDOUT.
type Copy struct {
	Query     *Query
	Format    string // "text", "csv", "binary"
	Delimiter string
	Null      string
	Header    bool
	Quote     string
	Escape    string
	// ForceQuote are the columns always quoted in CSV; "*" is all.
	ForceQuote []string
}

// Set is SET [SESSION|LOCAL] name = value, SET TIME ZONE, SET SESSION CHARACTERISTICS (name "") and the like.
type Set struct {
	Name    string
	Values  []string
	Default bool
	Local   bool
	Off     int
}

// Reset is RESET name; Name "all" is RESET ALL.
type Reset struct {
	Name string
	Off  int
}

// Show is SHOW name; Name "all" is SHOW ALL.
type Show struct {
	Name string
	Off  int
}

// Transaction is BEGIN, COMMIT, ROLLBACK, SAVEPOINT, RELEASE, ROLLBACK TO.
type Transaction struct {
	Verb  string // "begin", "start", "commit", "rollback", "savepoint", "release", "rollback to", "set", "prepare"
	Name  string // of a savepoint
	Chain bool
}

// Declare is DECLARE name CURSOR FOR query.
type Declare struct {
	Name             string
	Query            *Query
	Hold, NoScroll   bool
	Scroll, IsBinary bool
	Off              int
}

// Fetch is FETCH or MOVE.
type Fetch struct {
	Move      bool
	Direction string // "forward", "backward", "absolute", "relative"
	Count     int64
	All       bool
	Cursor    string
	Off       int
}

// CloseCursor is CLOSE name or CLOSE ALL (Name "").
type CloseCursor struct {
	Name string
	Off  int
}

// Prepare is PREPARE name [(types)] AS statement.
type Prepare struct {
	Name      string
	types     []typeName
	Statement Statement
	// Text and Offset are the statement's own text and where it begins.
	Text   string
	Offset int
}

// Execute is EXECUTE name [(arguments)].
type Execute struct {
	Name string
	Off  int
	args []expr
}

// Deallocate is DEALLOCATE name or ALL (Name "").
type Deallocate struct {
	Name string
	Off  int
}

// Discard is DISCARD ALL, PLANS, SEQUENCES or TEMP.
type Discard struct{ What string }

// Notify is LISTEN, UNLISTEN or NOTIFY, which are accepted where they do no harm.
type Notify struct{ Verb string }

// Empty is a statement without tokens.
type Empty struct{}

func (*Query) statement()       {}
func (*Explain) statement()     {}
func (*Copy) statement()        {}
func (*Set) statement()         {}
func (*Reset) statement()       {}
func (*Show) statement()        {}
func (*Transaction) statement() {}
func (*Declare) statement()     {}
func (*Fetch) statement()       {}
func (*CloseCursor) statement() {}
func (*Prepare) statement()     {}
func (*Execute) statement()     {}
func (*Deallocate) statement()  {}
func (*Discard) statement()     {}
func (*Notify) statement()      {}
func (*Empty) statement()       {}

// Split cuts the text of a simple query at its semicolons. Pieces that have no tokens are left out. The texts are slices of src, with
// their offsets.
func Split(w *work.Work, src string) (pieces []string, offsets []int, err error) {
	defer w.Back(w.Used())
	toks, err := lex(w, src)
	if err != nil {
		return nil, nil, err
	}
	start := 0
	for i, t := range toks {
		if !t.is(";") && t.Kind != tEOF {
			continue
		}
		if i > start {
			from := toks[start].Off
			pieces, offsets = append(pieces, src[from:toks[i-1].End]), append(offsets, from)
		}
		start = i + 1
	}
	return pieces, offsets, nil
}

// Parse parses one statement; a semicolon at the end is allowed. Errors carry positions. What the statement takes of memory stays held, what
// parsing took is given back.
func Parse(w *work.Work, src string) (Statement, error) {
	before := w.Used()
	toks, err := lex(w, src)
	if err != nil {
		return nil, err
	}
	// The end of input is reported where the text ends.
	for n := len(toks); n > 1 && toks[n-2].is(";"); n = len(toks) {
		toks = append(toks[:n-2], toks[n-1])
	}
	r := &rewriter{work: w, src: src, toks: toks}
	st, err := r.statement()
	if err != nil {
		return nil, err
	}
	w.Back(before)
	if err := w.Hold(int64(len(src)) + int64(len(r.notes)+len(r.constants))*nodeSize); err != nil {
		return nil, err
	}
	if t := r.peek(); t.Kind != tEOF {
		if t.is(";") {
			return nil, syntaxError(t.Off, "cannot insert multiple commands into a prepared statement")
		}
		return nil, r.unexpected()
	}
	return st, nil
}

// writes are the statements that would change something.
var writes = map[string]string{
	"insert": "POST the document to the database over HTTP.", "update": "PUT the document with its _rev over HTTP.",
	"delete": "DELETE the document with its _rev over HTTP.", "merge": "POST the documents to _bulk_docs over HTTP.",
	"create": "A database is made by PUT /name, a view by PUT of a design document.", "alter": "Change the design document over HTTP.",
	"drop": "Delete the database or the design document over HTTP.", "truncate": "Delete the documents over HTTP.",
}

// refused are statements that PostgreSQL has and this gateway has no use for.
var refused = map[string]bool{"grant": true, "revoke": true, "comment": true, "vacuum": true, "analyze": true, "analyse": true, "call": true,
	"do": true, "reindex": true, "cluster": true, "refresh": true, "lock": true, "security": true, "import": true, "reassign": true,
	"checkpoint": true, "load": true}

func (r *rewriter) statement() (Statement, error) {
	t := r.peek()
	if t.Kind == tEOF {
		return &Empty{}, nil
	}
	if t.is("(") || t.words("select", "with", "values", "table") {
		return r.queryStatement()
	}
	if hint, ok := writes[t.Text]; ok && t.Kind == tIdent {
		return nil, sqlstate.Unsupported(t.Off, "SQL reads only. "+hint, "%s is not supported", strings.ToUpper(t.Text))
	}
	if refused[t.Text] && t.Kind == tIdent {
		return nil, sqlstate.Unsupported(t.Off, "SQL reads only; everything else is done over the HTTP API.", "%s is not supported", strings.ToUpper(t.Text))
	}
	if t.Kind != tIdent {
		return nil, r.unexpected()
	}
	switch t.Text {
	case "explain":
		return r.explain()
	case "copy":
		return r.copy()
	case "set", "reset", "show":
		return r.setting()
	case "begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release":
		return r.transaction()
	case "declare", "fetch", "move", "close":
		return r.cursor()
	case "prepare", "execute", "deallocate", "discard":
		return r.prepared()
	case "listen", "unlisten", "notify":
		r.take()
		for r.peek().Kind != tEOF {
			r.take()
		}
		return &Notify{t.Text}, nil
	}
	return nil, r.unexpected()
}

func (r *rewriter) queryStatement() (*Query, error) {
	text, err := r.selectStatement()
	if err != nil {
		return nil, err
	}
	sel, err := r.parse(text)
	if err != nil {
		return nil, err
	}
	return &Query{sel}, nil
}

func (r *rewriter) explain() (Statement, error) {
	r.take()
	e := &Explain{Format: "text", Timing: true}
	if r.peek().is("(") && !r.queryIn() {
		r.take()
		if err := r.list(func() error { return r.explainOption(e) }); err != nil {
			return nil, err
		}
		if err := r.expectPunct(")"); err != nil {
			return nil, err
		}
	} else {
		if r.acceptWord("analyze") || r.acceptWord("analyse") {
			e.Analyze = true
		}
		e.Verbose = r.acceptWord("verbose")
	}
	inner := r.peek()
	st, err := r.statement()
	if err != nil {
		return nil, err
	}
	switch s := st.(type) {
	case *Query:
		e.Query = s
	case *Declare:
		e.Query = s.Query
	default:
		return nil, sqlstate.Unsupported(inner.Off, "EXPLAIN a SELECT.", "EXPLAIN of this statement is not supported")
	}
	return e, nil
}

func (r *rewriter) explainOption(e *Explain) error {
	t := r.take()
	on := true
	value := ""
	if v := r.peek(); v.Kind == tIdent || v.Kind == tString || v.Kind == tInteger {
		r.take()
		value = strings.ToLower(v.Text)
		on = value != "off" && value != "false" && value != "0"
	}
	switch t.Text {
	case "analyze", "analyse":
		e.Analyze = on
	case "verbose":
		e.Verbose = on
	case "timing":
		e.Timing = on
	case "costs", "settings", "buffers", "wal", "summary", "generic_plan":
	case "format":
		if value != "text" && value != "json" {
			return sqlstate.Unsupported(t.Off, "Use FORMAT TEXT or FORMAT JSON.", "EXPLAIN format %q is not supported", value)
		}
		e.Format = value
	default:
		return syntaxError(t.Off, "unrecognized EXPLAIN option %q", t.Text)
	}
	return nil
}

// copy reads COPY (query) | table [(columns)] TO STDOUT [[WITH] (options) | old options].
func (r *rewriter) copy() (Statement, error) {
	off := r.take().Off
	c := &Copy{Format: "text"}
	var err error
	if r.peek().is("(") {
		r.take()
		if c.Query, err = r.copyQuery(); err != nil {
			return nil, err
		}
		if err := r.expectPunct(")"); err != nil {
			return nil, err
		}
	} else if c.Query, err = r.copyTable(); err != nil {
		return nil, err
	}
	if t := r.peek(); t.word("from") {
		return nil, sqlstate.Unsupported(off, "POST documents to _bulk_docs over HTTP.", "COPY FROM is not supported")
	}
	if err := r.expectWord("to"); err != nil {
		return nil, err
	}
	if t := r.peek(); !r.acceptWord("stdout") {
		return nil, sqlstate.Unsupported(t.Off, "Use COPY ... TO STDOUT, or psql's \\copy.", "COPY to a file or program is not supported")
	}
	r.acceptWord("with")
	if r.acceptPunct("(") {
		if err := r.list(func() error { return r.copyOption(c) }); err != nil {
			return nil, err
		}
		if err := r.expectPunct(")"); err != nil {
			return nil, err
		}
	} else if err := r.oldCopyOptions(c); err != nil {
		return nil, err
	}
	return c, c.check(off)
}

func (r *rewriter) copyQuery() (*Query, error) {
	t := r.peek()
	st, err := r.statement()
	if err != nil {
		return nil, err
	}
	q, ok := st.(*Query)
	if !ok {
		return nil, r.unexpectedAt(t)
	}
	return q, nil
}

// copyTable reads table [(columns)] as SELECT columns FROM table.
func (r *rewriter) copyTable() (*Query, error) {
	n := note{kind: noteTable, off: r.peek().Off}
	for {
		part, err := r.label()
		if err != nil {
			return nil, err
		}
		n.name = append(n.name, part)
		if !r.acceptPunct(".") {
			break
		}
	}
	columns, err := r.columnNames()
	if err != nil {
		return nil, err
	}
	list := "*"
	for i, c := range columns {
		if i == 0 {
			list = ""
		} else {
			list += ", "
		}
		list += r.name(note{kind: noteColumn, off: n.off, name: []string{c}})
	}
	sel, err := r.parse("select " + list + " from " + r.name(n))
	if err != nil {
		return nil, err
	}
	sel.at = at(n.off)
	return &Query{sel}, nil
}

func (r *rewriter) copyOption(c *Copy) error {
	t := r.take()
	v := r.peek()
	value := ""
	if v.Kind == tString || v.Kind == tIdent || v.Kind == tInteger || v.Kind == tQuoted {
		r.take()
		value = v.Text
	}
	on := value != "off" && value != "false" && value != "0"
	switch t.Text {
	case "format":
		c.Format = value
	case "delimiter":
		c.Delimiter = value
	case "null":
		c.Null = value
		if value == "" {
			c.Null = "\x00" // told from the default
		}
	case "header":
		c.Header = on
	case "quote":
		c.Quote = value
	case "escape":
		c.Escape = value
	case "force_quote":
		if v.op("*") {
			r.take()
			c.ForceQuote = []string{"*"}
			return nil
		}
		var err error
		c.ForceQuote, err = r.columnNames()
		return err
	case "encoding":
		if !strings.EqualFold(strings.ReplaceAll(value, "-", ""), "utf8") {
			return sqlstate.Unsupported(t.Off, "Use UTF8.", "encoding %q is not supported", value)
		}
	default:
		return syntaxError(t.Off, "option %q not recognized", t.Text)
	}
	return nil
}

func (r *rewriter) oldCopyOptions(c *Copy) error {
	for {
		t := r.peek()
		switch {
		case r.acceptWord("csv"):
			c.Format = "csv"
		case r.acceptWord("binary"):
			c.Format = "binary"
		case r.acceptWord("header"):
			c.Header = true
		case t.words("delimiter", "delimiters", "null", "quote", "escape"):
			r.take()
			r.acceptWord("as")
			v := r.take()
			if v.Kind != tString {
				return r.unexpectedAt(v)
			}
			switch t.Text {
			case "null":
				c.Null = v.Text
			case "quote":
				c.Quote = v.Text
			case "escape":
				c.Escape = v.Text
			default:
				c.Delimiter = v.Text
			}
		default:
			return nil
		}
	}
}

// check fills in the defaults of the format.
func (c *Copy) check(off int) error {
	switch c.Format {
	case "text", "csv", "binary":
	default:
		return sqlstate.New(sqlstate.InvalidParameterValue, "COPY format %q not recognized", c.Format).At(off)
	}
	def := func(p *string, text, csv string) {
		if *p == "" {
			*p = text
			if c.Format == "csv" {
				*p = csv
			}
		}
	}
	def(&c.Delimiter, "\t", ",")
	def(&c.Null, `\N`, "\x00")
	def(&c.Quote, `"`, `"`)
	def(&c.Escape, c.Quote, c.Quote)
	if c.Null == "\x00" {
		c.Null = ""
	}
	if len(c.Delimiter) != 1 || len(c.Quote) != 1 || len(c.Escape) != 1 || strings.ContainsAny(c.Delimiter, "\n\r") {
		return sqlstate.New(sqlstate.FeatureNotSupported, "COPY delimiter, quote and escape must be single one-byte characters").At(off)
	}
	return nil
}
