package house

// queryRules are the rules of query.
var queryRules = []rule{
	{
		room: "query/pgwire", may: []string{"query/sqlstate"},
		why: "the wire protocol knows messages, not what the SQL in them means",
	},
	{
		room: "query/work", may: []string{"query/sqlstate"},
		why: "memory and processor time of statements are accounted for below everything that uses them",
	},
	{
		room: "query/quantities", may: []string{"query/sqlstate"},
		why: "numbers are checked in the same way whatever setting they are of",
	},
	{
		room: "query/settings", may: []string{"query/catalog", "query/charset", "query/copying", "query/exec",
			"query/exec/joins", "query/pgwire", "query/plan", "query/quantities", "query/sql/keyword", "query/sqlstate",
			"query/types", "query/work", "query/zones"},
		why: "settings of a session know what they may be, and not what a session is",
	},
	{
		room: "query/floats", may: []string{},
		why: "digits of a number depend on nothing but the number",
	},
	{
		room: "query/zones", may: []string{"query/datetime", "query/sqlstate", "query/types"},
		why: "which zones there are does not depend on who sets one",
	},
	{
		room: "query/copying", may: []string{"query/charset", "query/sql/ast", "query/sqlstate", "query/types"},
		why: "the formats of COPY are the same whatever is copied",
	},
	{
		room: "query/cursor", may: []string{"query/exec", "query/exec/spill", "query/sql/ast", "query/sqlstate",
			"query/types"},
		why: "a cursor moves over the rows of a plan, and knows nothing of sessions",
	},
	{
		room: "query/charset", may: []string{"query/sqlstate"}, testsMay: []string{"query/pgtest"},
		why: "texts are converted in the same way, whatever they are for",
	},
	{
		room: "query/advisory", may: []string{"query/sqlstate"},
		why: "locks on numbers know their owners and nothing of sessions",
	},
	{
		room: "query/notify", may: []string{"query/exec", "query/pgwire", "query/sqlstate"},
		why: "notifications go from session to session; what opens a database for them comes in through functions",
	},
	{
		room: "query/sqlstate",
		why:  "all parts of query share the error codes",
	},
	{
		room: "query/regex", testsMay: []string{"query/pgtest"},
		why: "regular expressions are patterns and texts, wherever they come from",
	},
	{
		room: "query/jsonpath", may: []string{"layer/jsontext", "query/regex", "query/sqlstate"},
		why: "a path is parsed without knowing what values it is for",
	},
	{
		room: "query/jsonpath/run", may: []string{"layer/jsontext", "query/datetime", "query/jsonpath", "query/regex",
			"query/sqlstate",
			"query/types"},
		why: "a path is evaluated over values; what calls it, and what bounds it, comes in through functions",
	},
	{
		room: "query/datetime", may: []string{"query/sqlstate"},
		why: "the calendar, and the texts of times, are the same whatever values hold them",
	},
	{
		room: "query/types/jsonerror", may: []string{"query/sqlstate"},
		why: "what is wrong with a text of JSON depends on nothing but the text",
	},
	{
		room: "query/types", may: []string{"layer/collate", "layer/jsontext", "query/charset", "query/datetime",
			"query/floats", "query/jsonpath", "query/sqlstate", "query/types/jsonerror"},
		why: "values are compared, cast and written in text and binary; where they come from does not matter",
	},
	{
		room: "query/types/members", may: []string{"layer/jsontext", "query/types"},
		why: "what is remembered of a text depends on nothing but the text",
	},
	{
		room: "query/exec", may: []string{"layer/collate", "layer/jsontext", "layer/rowshape", "query/exec/...",
			"query/sql/keyword",
			"query/sqlstate",
			"query/types", "query/types/members", "query/work"},
		why: "plans run over reads that query declares itself; it orders as the store does and knows " +
			"nothing else of it",
	},
	{
		room: "query/exec/exectest", may: []string{"layer/collate", "layer/reduce", "layer/rowshape", "query/exec"},
		why: "the store of tests orders and reduces as the layer does, without storing anything",
	},
	{
		room: "query/exec/shortcut", may: []string{"query/exec", "query/types"},
		why: "a shortcut is a step of a plan like any other, which the others do not know",
	},
	{
		room: "query/exec/badvalues", may: []string{"query/sqlstate"},
		why: "what could not be cast is counted without knowing where it was read",
	},
	{
		room: "query/exec/tally", may: []string{},
		why: "what a step has done is counted without knowing the step",
	},
	{
		room: "query/exec/spill", may: []string{"query/sqlstate", "query/types", "query/work"},
		why: "rows are kept in files without knowing what they are sorted or divided for",
	},
	{
		room: "query/exec/groups", may: []string{"query/exec", "query/exec/spill", "query/exec/tally", "query/types",
			"query/work"},
		why: "a grouping is a step of a plan like any other, which the others do not know",
	},
	{
		room: "query/exec/sets", may: []string{"query/exec", "query/exec/spill", "query/exec/tally", "query/types"},
		why: "a comparison of whole rows is a step of a plan like any other, which the others do not know",
	},
	{
		room: "query/exec/joins", may: []string{"query/exec", "query/exec/spill", "query/exec/tally", "query/types",
			"query/work"},
		why: "a join is a step of a plan like any other, which the others do not know",
	},
	{
		room: "query/exec/window", may: []string{"query/exec", "query/exec/spill", "query/exec/tally", "query/sqlstate",
			"query/types", "query/work"},
		why: "a window is a step of a plan like any other, which the others do not know",
	},
	{
		room: "query/exec/writes", may: []string{"query/exec", "query/exec/spill", "query/sqlstate", "query/types"},
		why: "what is written is computed by plans, and stored by a transaction that exec declares",
	},
	{
		room: "query/sql/ast",
		why:  "the tree is what parsing and binding share, and knows neither",
	},
	{
		room: "query/pgtest",
		why:  "tests of any part of query compare with a PostgreSQL, which knows nothing of them",
	},
	{
		room: "query/sql/lex", may: []string{"query/sql/keyword", "query/sqlstate", "query/work"},
		why: "a text is cut into tokens without knowing what they make",
	},
	{
		room: "query/sql/parse", may: []string{"query/sql/ast", "query/sql/keyword", "query/sql/lex",
			"query/sqlstate", "query/work"},
		testsMay: []string{"query/pgtest"},
		why:      "a text is parsed without knowing what its names mean",
	},
	{
		room: "query/sql/keyword",
		why:  "key words are in one table, for reading and writing names",
	},
	{
		room: "query/funcs", may: []string{"query/charset", "query/datetime", "query/exec/...", "query/funcs/...",
			"query/jsonpath/...",
			"query/regex", "query/sql/keyword", "query/sqlstate", "query/types", "query/work"},
		why: "functions compute values of values; what calls them, and where from, does not matter",
	},
	{
		room: "query/funcs/aggregates",
		may: []string{"layer/jsontext", "query/exec", "query/funcs", "query/sqlstate", "query/types",
			"query/work"},
		why: "aggregates combine values, whatever rows they are from",
	},
	{
		room: "query/funcs/jsons", may: []string{"layer/jsontext", "query/exec", "query/funcs",
			"query/funcs/templates", "query/funcs/texts", "query/jsonpath/...",
			"query/regex",
			"query/sqlstate", "query/types", "query/work"},
		why: "JSON is decomposed and composed without knowing documents",
	},
	{
		room: "query/funcs/texts", may: []string{"layer/jsontext", "query/exec", "query/funcs", "query/regex",
			"query/sql/keyword",
			"query/sqlstate",
			"query/types", "query/work"},
		why: "texts and patterns know no other family",
	},
	{
		room: "query/funcs/templates", may: []string{"query/datetime", "query/exec", "query/funcs", "query/funcs/texts",
			"query/sqlstate",
			"query/types", "query/work"},
		why: "templates write numbers and times without computing them",
	},
	{
		room: "query/funcs/times", may: []string{"query/datetime", "query/exec", "query/funcs", "query/funcs/templates",
			"query/sqlstate",
			"query/types", "query/work"},
		why: "times are computed and printed without other types",
	},
	{
		room: "query/bind/refuse", may: []string{"query/sql/ast", "query/sql/parse",
			"query/sqlstate"}, testsMay: []string{"query/work"},
		why: "unsupported statements are recognized by their tree",
	},
	{
		room: "query/bind/collation", may: []string{"query/exec", "query/sqlstate", "query/types"},
		why: "collations follow from expressions, however these were written",
	},
	{
		room: "query/bind/refs", may: []string{"query/bind/collation", "query/exec/...", "query/sql/ast",
			"query/sqlstate", "query/types"},
		why: "references stand for values and know nothing of the query",
	},
	{
		room: "query/bind/naming", may: []string{"query/bind/declare", "query/bind/refuse", "query/exec",
			"query/sql/ast", "query/sqlstate",
			"query/types"},
		why: "names are the same for binding, planning and listing",
	},
	{
		room: "query/bind/frames", may: []string{"query/bind/typing", "query/exec", "query/exec/window",
			"query/sql/ast", "query/sqlstate"},
		why: "frames are bound without names and scopes",
	},
	{
		room: "query/bind/grouping", may: []string{"query/sql/ast", "query/sqlstate"},
		why: "grouping sets are computed over the numbers of keys",
	},
	{
		room: "query/bind/typing", may: []string{"query/bind/collation", "query/datetime", "query/exec",
			"query/exec/window", "query/funcs/...", "query/sql/ast",
			"query/sqlstate", "query/types"},
		why: "types follow from operands and candidates, without names and scopes",
	},
	{
		room: "query/bind/toplevel", may: []string{"query/bind", "query/bind/naming", "query/bind/refuse",
			"query/bind/typing", "query/exec", "query/sql/ast", "query/sqlstate", "query/types", "query/work"},
		why: "statements around queries have their own rules, and leave names and expressions to the binder",
	},
	{
		room: "query/bind", may: []string{"query/bind/...", "query/datetime", "query/exec/...", "query/funcs/...",
			"query/sql/ast", "query/sql/parse", "query/sqlstate", "query/types", "query/work"},
		why: "a statement gets its meaning from the tree and a schema, without the wire and without running anything",
	},
	{
		room: "query/plan/flat", may: []string{"query/bind/...", "query/exec"},
		why: "queries are merged without knowing how they will be read",
	},
	{
		room: "query/plan/bodies", may: []string{"query/bind", "query/bind/collation", "query/exec", "query/types"},
		why: "what a query reads of documents depends on the query alone",
	},
	{
		room: "query/plan/ranges", may: []string{"layer/jsontext", "query/bind/collation", "query/exec",
			"query/funcs/texts", "query/types"},
		testsMay: []string{"layer/collate"},
		why:      "which values can satisfy conditions depends on the conditions alone",
	},
	{
		room: "query/plan/quals", may: []string{"query/exec", "query/types"},
		why: "what a condition costs depends on the condition alone",
	},
	{
		room: "query/plan/facts", may: []string{"layer/rowshape", "query/bind/collation", "query/exec",
			"query/plan/ranges", "query/types"},
		why: "what conditions say about documents depends on the conditions alone, whatever is read for them",
	},
	{
		room: "query/plan/walk", may: []string{"query/exec", "query/exec/shortcut", "query/plan/ranges", "query/types"},
		why: "where the next rows are looked for depends on those found, whatever the statement is",
	},
	{
		room: "query/plan", may: []string{"layer/jsontext", "layer/rowshape", "query/bind/...", "query/exec/...",
			"query/funcs/...", "query/plan/bodies", "query/plan/facts", "query/plan/flat", "query/plan/quals",
			"query/plan/ranges", "query/plan/walk", "query/sql/ast", "query/sqlstate", "query/types", "query/work"},
		why: "a plan is made from a bound statement and values, and is executed elsewhere",
	},
	{
		room: "query/explain", may: []string{"layer/jsontext", "query/exec", "query/sql/ast", "query/types"},
		why: "a plan is described by its own nodes, whatever made it",
	},
	{
		room: "query/bind/declare", may: []string{"query/bind/typing", "query/sql/ast", "query/sql/lex",
			"query/sql/parse", "query/sqlstate", "query/types", "query/work"},
		why: "a declaration becomes a query and columns without names and scopes",
	},
	{
		room: "query/catalog", may: []string{"query/bind/...", "query/charset", "query/datetime", "query/exec/...",
			"query/funcs/...", "query/zones",
			"query/sql/keyword", "query/sqlstate", "query/types"},
		testsMay: []string{"query/exec/exectest", "query/pgtest", "query/work"},
		why:      "the catalogue is rows about databases and views, seen through the same declared reads",
	},
	{
		room: "query/mango", may: []string{"layer/collate", "layer/jsontext", "layer/selector"},
		why: "a plan is made from a selector and definitions of indexes; how these are stored and read is the " +
			"caller's business",
	},
	{
		room: "query", may: []string{"query/...", "layer/collate", "layer/rowshape"},
		why: "query sees the store through interfaces of its own, so that it can be tested without one; node adapts",
	},
}
