package ast

// Query is a SELECT, VALUES or TABLE.
type Query struct{ *Select }

// Explain is EXPLAIN.
type Explain struct {
	At
	Statement Statement
	Analyze   bool
	Verbose   bool
	Format    string // "text", "json", "xml" or "yaml"
	Timing    bool
	Costs     bool // print estimates
	Settings  bool // print those that plans depend on
	Summary   bool // print times
	// SummarySet is set if the option was given. Without it, the summary is printed after ANALYZE.
	SummarySet bool
	// NeedsAnalyze is the first option that requires Analyze.
	NeedsAnalyze string
}

// Copy is COPY.
type Copy struct {
	At
	// Statement is the query whose rows are copied. For COPY of a table it is a SELECT of the columns.
	Statement Statement
	// Table and Columns are set for COPY table.
	Table   *Table
	Columns []string
	From    bool
	// Target is "stdout", "stdin", or empty for a file or a program.
	Target    string
	TargetPos At

	Format    string // "text", "csv", "binary"
	Delimiter string
	Null      string
	Header    bool
	Quote     string
	Escape    string
	// ForceQuote lists the columns that are always quoted in CSV; "*" means all.
	ForceQuote []string
	// ForceNotNull and ForceNull are options of COPY FROM in CSV.
	ForceNotNull, ForceNull []string
	// HeaderMatch requires that the header has the names of the columns.
	HeaderMatch bool
	// Where is the position of the condition of COPY FROM, if Filtered is set.
	Where    At
	Filtered bool
	// Encoding is the character set that was asked for, empty if none.
	Encoding   string
	EncodingAt At
}

// Set is SET [SESSION|LOCAL] name = value, SET TIME ZONE and similar forms.
type Set struct {
	At
	Name    string
	Values  []string
	Default bool
	Local   bool
}

// Reset is RESET name; Name "all" is RESET ALL.
type Reset struct {
	At
	Name string
}

// Show is SHOW name; Name "all" is SHOW ALL.
type Show struct {
	At
	Name string
}

// Transaction is BEGIN, COMMIT, ROLLBACK, SAVEPOINT, RELEASE, ROLLBACK TO, SET TRANSACTION and two-phase commit.
type Transaction struct {
	At
	// Verb is "begin", "start", "commit", "rollback", "savepoint", "release", "rollback to", "prepare", "commit
	// prepared", "rollback prepared", "set" (SET TRANSACTION) or "set session" (SET SESSION CHARACTERISTICS).
	Verb  string
	Name  string // savepoint or prepared transaction
	Chain bool
	Modes TransactionModes
	// Snapshot is the identifier in SET TRANSACTION SNAPSHOT.
	Snapshot string
}

// TransactionModes are the modes that BEGIN and SET TRANSACTION name. A mode that was not named is empty.
type TransactionModes struct {
	Isolation  string // "serializable", "repeatable read", "read committed", "read uncommitted"
	Access     string // "read only", "read write"
	Deferrable string // "deferrable", "not deferrable"
}

// Declare is DECLARE name CURSOR FOR query.
type Declare struct {
	At
	Name             string
	Query            *Query
	Hold, IsBinary   bool
	Scroll, NoScroll bool
	// Insensitive and Asensitive are words that PostgreSQL has for the standard: its cursors are always insensitive.
	Insensitive, Asensitive bool
}

// Fetch is FETCH or MOVE.
type Fetch struct {
	At
	Move      bool
	Direction string // "forward", "backward", "absolute", "relative"
	Count     int64
	All       bool
	Cursor    string
}

// CloseCursor is CLOSE name or CLOSE ALL (Name empty).
type CloseCursor struct {
	At
	Name string
}

// Prepare is PREPARE name [(types)] AS statement.
type Prepare struct {
	At
	Name      string
	Types     []TypeName
	Statement Statement
	// Text is the text of the prepared statement, Offset where it begins.
	Text   string
	Offset int
}

// Execute is EXECUTE name [(arguments)].
type Execute struct {
	At
	Name string
	Args []Expr
}

// Deallocate is DEALLOCATE name or ALL (Name empty).
type Deallocate struct {
	At
	Name string
}

// Discard is DISCARD ALL, PLANS, SEQUENCES or TEMP.
type Discard struct {
	At
	What string
}

// Notify is LISTEN, UNLISTEN or NOTIFY.
type Notify struct {
	At
	Verb    string
	Channel string // "*" for all
	Payload string
}

// LockTable is LOCK TABLE.
type LockTable struct {
	At
	Tables [][]string
	Places []At
	Mode   string // "access share" etc.
}

// Empty is a statement without tokens.
type Empty struct{}

func (*LockTable) statement()   {}
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
