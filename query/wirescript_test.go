package query_test

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/divandb/divan/query/exec/exectest"
	"github.com/divandb/divan/query/pgtest"
)

// wireServers starts this server and a PostgreSQL, both with an empty database called wire, and returns the address of
// this one, and network and address of the other one.
func wireServers(t *testing.T) (ours, network, theirs string) {
	t.Helper()
	url := pgtest.URL(t)
	admin := connect(t, url+" default_query_exec_mode=simple_protocol")
	if _, err := admin.PgConn().Exec(t.Context(), "DROP DATABASE IF EXISTS wire").ReadAll(); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.Exec(t.Context(), "CREATE DATABASE wire"); err != nil {
		t.Fatal(err)
	}
	if _, err := connect(t, strings.Replace(url, "dbname=postgres", "dbname=wire", 1)).Exec(t.Context(),
		"CREATE TABLE docs (id text PRIMARY KEY, rev text, doc jsonb)"); err != nil {
		t.Fatal(err)
	}
	s := exectest.NewStore()
	s.Create("wire")
	_, ours = start(t, s, nil)
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	network, theirs = pgconn.NetworkAddress(cfg.Host, cfg.Port)
	return ours, network, theirs
}

// TestWire_PostgreSQL runs the conversations of testdata/wire with this server and with a live PostgreSQL 15. Both must
// answer with the same messages. A file has several conversations, each on its own connection, with lines
//
//	== its name
//	differs: why the answers differ; then follow the messages that only one of them sends:
//	ours: the beginning of a message of ours
//	theirs: the beginning of a message of PostgreSQL's
//	startup {"user": "postgres", ...}  logs in and reads up to ReadyForQuery; it is done first by default
//	hello {"user": "postgres", ...}    sends only the start-up message; hello 3.2 {...} another version of the protocol
//	letter                             reads one byte
//	ssl, gss                           requests encryption and reads the answer, one byte
//	Q statement                        messages by their letters; arguments are words and JSON texts
//	P name "statement" oid...          "-" is the unnamed statement and portal
//	B portal statement [formats of parameters] [parameters] [formats of results]
//	D S name, D P name, E portal limit, C S name, C P name, S, H, F oid, d data with \n and \\, c, f message, X
//	8bit message                       a message whose characters up to U+00FF are sent as one byte each
//	raw hex...                         bytes
//	read Z                             sends what is buffered and reads up to a message of that type
//	read 2Z                            up to the second one; read end: until the connection ends
//	exact:                             compares positions of errors that PostgreSQL does not have, too
//	cancel                             sends cancel requests until the server answers with an error
//
// Parameters are JSON: texts, null for NULL, and {"hex": "00ff"}. Process ids and keys, the version of the server, and
// file, line and routine of errors are masked. Hints are not compared, because Divan has more of them.
func TestWire_PostgreSQL(t *testing.T) {
	addr, network, their := wireServers(t)
	files, err := filepath.Glob("testdata/wire/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, part := range strings.Split("\n"+string(text), "\n== ") {
			name, body, _ := strings.Cut(part, "\n")
			if i == 0 {
				continue // the comment at the top
			}
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txt")+"/"+name, func(t *testing.T) {
				t.Parallel()
				talk := parseTalk(t, body)
				got := talk.hold(t, "tcp", addr)
				want := talk.hold(t, network, their)
				talk.compare(t, got, want)
			})
		}
	}
}

// talk is a conversation: its lines, and the expected differences.
type talk struct {
	lines        []string
	ours, theirs []string
	differs      bool
	exact        bool
}

func parseTalk(t *testing.T, text string) *talk {
	t.Helper()
	k := &talk{}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		head, rest, _ := strings.Cut(line, " ")
		switch head {
		case "", "#":
		case "differs:":
			k.differs = true
		case "ours:":
			k.ours = append(k.ours, rest)
		case "exact:":
			k.exact = true
		case "theirs:":
			k.theirs = append(k.theirs, rest)
		default:
			k.lines = append(k.lines, line)
		}
	}
	if k.differs != (len(k.ours)+len(k.theirs) > 0) {
		t.Fatal("what differs has a reason, and ours or theirs")
	}
	first, _, _ := strings.Cut(k.lines[0], " ")
	if !strings.Contains(" hello ssl gss raw startup ", " "+first+" ") {
		k.lines = append([]string{`startup {"user": "postgres"}`}, k.lines...)
	}
	return k
}

// compare compares the messages of both servers.
func (k *talk) compare(t *testing.T, got, want []string) {
	t.Helper()
	lines, ours, theirs := k.diff(described(got), described(want))
	if !startEach(ours, k.ours) || !startEach(theirs, k.theirs) {
		t.Errorf("ours (-) and PostgreSQL's (+):\n%s", strings.Join(lines, "\n"))
	}
}

func startEach(lines, heads []string) bool {
	return slices.EqualFunc(lines, heads, strings.HasPrefix)
}

var wirePlace = regexp.MustCompile(`^(E [A-Z]+ .....) at \d+: `)

// same ignores the position of an error that has none in PostgreSQL.
func (k *talk) same(got, want string) bool {
	return got == want || !k.exact && wirePlace.ReplaceAllString(got, "$1: ") == want
}

// described removes the description of a result that fails at once: PostgreSQL evaluates constants before it describes
// a result.
func described(list []string) (out []string) {
	for i, m := range list {
		if !strings.HasPrefix(m, "T ") || i == len(list)-1 || !strings.HasPrefix(list[i+1], "E ") {
			out = append(out, m)
		}
	}
	return out
}

// diff returns the longest common sequence, with the lines that are only in got (-) and only in want (+).
func (k *talk) diff(got, want []string) (lines, ours, theirs []string) {
	common := make([][]int, len(got)+1)
	for i := range common {
		common[i] = make([]int, len(want)+1)
	}
	for i := len(got) - 1; i >= 0; i-- {
		for j := len(want) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); k.same(got[i], want[j]) {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	for i, j := 0, 0; i < len(got) || j < len(want); {
		switch {
		case i < len(got) && j < len(want) && k.same(got[i], want[j]):
			lines = append(lines, "  "+got[i])
			i, j = i+1, j+1
		case j == len(want) || i < len(got) && common[i+1][j] >= common[i][j+1]:
			lines, ours = append(lines, "- "+got[i]), append(ours, got[i])
			i++
		default:
			lines, theirs = append(lines, "+ "+want[j]), append(theirs, want[j])
			j++
		}
	}
	return lines, ours, theirs
}

// hold runs the conversation with a server and returns its messages as texts.
func (k *talk) hold(t *testing.T, network, addr string) []string {
	t.Helper()
	w := dialWire(t, network, addr)
	for _, line := range k.lines {
		w.do(line)
	}
	return w.received
}

// do executes one line.
func (w *wireConn) do(line string) {
	w.t.Helper()
	head, rest, _ := strings.Cut(line, " ")
	switch head {
	case "startup":
		w.hello(rest)
		w.read("Z")
		w.received = nil // startup.txt tests its messages
	case "hello":
		w.hello(rest)
	case "ssl":
		w.bytes(binary.BigEndian.AppendUint32([]byte{0, 0, 0, 8}, 80877103))
		w.letter()
	case "gss":
		w.bytes(binary.BigEndian.AppendUint32([]byte{0, 0, 0, 8}, 80877104))
		w.letter()
	case "letter":
		w.letter()
	case "raw":
		b, err := hex.DecodeString(strings.ReplaceAll(rest, " ", ""))
		if err != nil {
			w.t.Fatalf("%s: %v", line, err)
		}
		w.bytes(b)
	case "read":
		w.read(rest)
	case "cancel":
		w.cancel()
	case "8bit":
		head, rest, _ = strings.Cut(rest, " ")
		w.say(eightBit(frontendMessage(w.t, head, rest)))
	default:
		w.say(frontendMessage(w.t, head, rest))
	}
}

func (w *wireConn) hello(text string) {
	w.t.Helper()
	version := uint32(pgproto3.ProtocolVersion30)
	if number, rest, ok := strings.Cut(text, " {"); ok {
		major, minor, _ := strings.Cut(number, ".")
		a, _ := strconv.Atoi(major)
		b, _ := strconv.Atoi(minor)
		version, text = uint32(a<<16|b), "{"+rest
	}
	params := map[string]string{}
	if err := json.Unmarshal([]byte(text), &params); err != nil {
		w.t.Fatalf("%s: %v", text, err)
	}
	if params["user"] != "" && params["database"] == "" {
		params["database"] = "wire"
	}
	// Any version: pgproto3 knows only two.
	packet := binary.BigEndian.AppendUint32(make([]byte, 4), version)
	for _, name := range slices.Sorted(maps.Keys(params)) {
		packet = append(packet, name+"\x00"+params[name]+"\x00"...)
	}
	packet = append(packet, 0)
	binary.BigEndian.PutUint32(packet, uint32(len(packet)))
	w.bytes(packet)
}

// eightBit makes a byte of each character of a message.
func eightBit(m pgproto3.FrontendMessage) pgproto3.FrontendMessage {
	narrow := func(text string) string {
		var b []byte
		for _, r := range text {
			b = append(b, byte(r))
		}
		return string(b)
	}
	switch m := m.(type) {
	case *pgproto3.Query:
		m.String = narrow(m.String)
	case *pgproto3.Parse:
		m.Name, m.Query = narrow(m.Name), narrow(m.Query)
	case *pgproto3.Bind:
		m.PreparedStatement, m.DestinationPortal = narrow(m.PreparedStatement), narrow(m.DestinationPortal)
		for i, p := range m.Parameters {
			if p != nil {
				m.Parameters[i] = []byte(narrow(string(p)))
			}
		}
	case *pgproto3.Describe:
		m.Name = narrow(m.Name)
	case *pgproto3.Execute:
		m.Portal = narrow(m.Portal)
	case *pgproto3.Close:
		m.Name = narrow(m.Name)
	case *pgproto3.CopyData:
		m.Data = []byte(narrow(string(m.Data)))
	case *pgproto3.CopyFail:
		m.Message = narrow(m.Message)
	}
	return m
}

// frontendMessage returns the message for a letter and arguments.
func frontendMessage(t *testing.T, letter, text string) pgproto3.FrontendMessage {
	t.Helper()
	args := wireArguments(t, text)
	word := func(i int) string {
		if i >= len(args) || args[i] == "-" {
			return ""
		}
		return args[i]
	}
	number := func(s string) uint32 {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			t.Fatalf("%s %s: %v", letter, text, err)
		}
		return uint32(n)
	}
	switch letter {
	case "Q":
		return &pgproto3.Query{String: strings.ReplaceAll(text, `\n`, "\n")}
	case "P":
		m := &pgproto3.Parse{Name: word(0), Query: word(1)}
		for _, oid := range args[2:] {
			m.ParameterOIDs = append(m.ParameterOIDs, number(oid))
		}
		return m
	case "B":
		return bindMessage(t, word(0), word(1), args[2:])
	case "D":
		return &pgproto3.Describe{ObjectType: args[0][0], Name: word(1)}
	case "C":
		return &pgproto3.Close{ObjectType: args[0][0], Name: word(1)}
	case "E":
		return &pgproto3.Execute{Portal: word(0), MaxRows: number(args[1])}
	case "S":
		return &pgproto3.Sync{}
	case "H":
		return &pgproto3.Flush{}
	case "F":
		return &pgproto3.FunctionCall{Function: number(args[0])}
	case "d":
		return &pgproto3.CopyData{Data: []byte(strings.NewReplacer(`\n`, "\n", `\\`, `\`).Replace(text))}
	case "c":
		return &pgproto3.CopyDone{}
	case "f":
		return &pgproto3.CopyFail{Message: text}
	case "X":
		return &pgproto3.Terminate{}
	}
	t.Fatalf("no message %q", letter)
	return nil
}

func bindMessage(t *testing.T, portal, statement string, lists []string) *pgproto3.Bind {
	t.Helper()
	m := &pgproto3.Bind{DestinationPortal: portal, PreparedStatement: statement}
	decode := func(i int, into any) {
		if i < len(lists) {
			if err := json.Unmarshal([]byte(lists[i]), into); err != nil {
				t.Fatalf("%s: %v", lists[i], err)
			}
		}
	}
	var values []any
	decode(0, &m.ParameterFormatCodes)
	decode(1, &values)
	decode(2, &m.ResultFormatCodes)
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			m.Parameters = append(m.Parameters, nil)
		case string:
			m.Parameters = append(m.Parameters, []byte(v))
		case map[string]any:
			b, err := hex.DecodeString(strings.ReplaceAll(fmt.Sprint(v["hex"]), " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			m.Parameters = append(m.Parameters, b)
		default:
			t.Fatalf("parameter %v", v)
		}
	}
	return m
}

// wireArguments splits a line into words, JSON texts and lists.
func wireArguments(t *testing.T, text string) []string {
	t.Helper()
	var out []string
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		if text[0] != '"' && text[0] != '[' {
			word, rest, _ := strings.Cut(text, " ")
			out, text = append(out, word), rest
			continue
		}
		d := json.NewDecoder(strings.NewReader(text))
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return append(out, text) // of a statement, which extends to the end of the line
		}
		text = text[d.InputOffset():]
		var s string
		if json.Unmarshal(raw, &s) != nil {
			s = string(raw)
		}
		out = append(out, s)
	}
	return out
}
