package pgwire_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/query/pgwire"
	"github.com/divandb/divan/query/sqlstate"
)

// taken collects what a text of SQL returns.
type taken struct {
	said []string
	row  func() error
}

func (k *taken) Columns(list []pgwire.Column) error {
	k.said = append(k.said, fmt.Sprint("columns ", len(list)))
	return nil
}

func (k *taken) Row(values [][]byte) error {
	k.said = append(k.said, "row "+string(slices.Concat(values...)))
	if k.row != nil {
		return k.row()
	}
	return nil
}

func (k *taken) Done(tag string) error          { k.said = append(k.said, tag); return nil }
func (k *taken) Notice(e *sqlstate.Error) error { k.said = append(k.said, e.Message); return nil }

var at = &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 4711}

// eventually waits for a condition.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not within 10 s: ", what)
		}
	}
}

func TestServer_Run(t *testing.T) {
	f := &fake{}
	s, _ := serve(t, f, func(o *pgwire.Options) { o.RequireTLS, o.MaxConnections = true, 4 })
	who := pgwire.Inside{User: "anna", Authenticated: true, Admin: true, Database: "db", Remote: at, Local: at}
	run := func(text string) (string, error) {
		k := &taken{}
		err := s.Run(t.Context(), who, text, k)
		return strings.Join(k.said, "|"), err
	}
	if got, err := run("rows 2; rows 1; none"); err != nil ||
		got != "columns 1|row 1|row 2|SELECT 2|columns 1|row 1|SELECT 1|SELECT 0" {
		t.Errorf("%s, %v", got, err)
	}
	for _, c := range []struct{ text, code string }{{"rows 1; fail; rows 2", "22012"}, {"panic", "XX000"}} {
		var e *sqlstate.Error
		if _, err := run(c.text); !errors.As(err, &e) || string(e.Code) != c.code {
			t.Errorf("%s: %v", c.text, err)
		}
	}
	var e *sqlstate.Error
	if _, err := run("rows\x00 1"); !errors.As(err, &e) || e.Code != sqlstate.CharacterNotInRepertoire ||
		!strings.Contains(e.Message, `"UTF8": 0x00`) {
		t.Errorf("a text with a zero byte: %v", err)
	}
	who.Database = "d\x00b"
	if _, err := run("rows 1"); !errors.As(err, &e) || e.Code != sqlstate.InvalidCatalogName ||
		e.Message != `database "d\x00b" does not exist` {
		t.Errorf("a database with a zero byte: %v", err)
	}
	who.Database = "forbidden"
	if _, err := run("rows 1"); !errors.As(err, &e) || e.Code != sqlstate.InsufficientPrivilege {
		t.Errorf("a database that the user may not read: %v", err)
	}
	who.Database = "db"

	enough := errors.New("enough")
	if err := s.Run(t.Context(), who, "drip 1000000", &taken{row: func() error { return enough }}); !errors.Is(err,
		enough) {
		t.Errorf("ended by its receiver: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the browser has gone")
	time.AfterFunc(50*time.Millisecond, func() { cancel(gone) })
	if err := s.Run(ctx, who, "wait", &taken{}); !errors.Is(err, gone) {
		t.Errorf("cancelled: %v", err)
	}
	eventually(t, "all sessions end", func() bool { return f.open.Load() == f.closed.Load() })

	// The last connections are for admins, and there are not more than the limit.
	who.Admin = false
	hold, release := context.WithCancel(t.Context())
	defer release()
	before := f.open.Load()
	go func() { _ = s.Run(hold, who, "wait", &taken{}) }()
	eventually(t, "a session is open", func() bool { return f.open.Load() > before })
	if _, err := run("rows 1"); !errors.As(err, &e) || e.Code != sqlstate.TooManyConnections {
		t.Errorf("one too many: %v", err)
	}
}

func TestServer_RunAfterShutdown(t *testing.T) {
	s := pgwire.NewServer(pgwire.Options{Handler: &fake{}})
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context(), pgwire.Inside{User: "a", Remote: at, Local: at}, "rows 1", &taken{}); err == nil {
		t.Error("it ran")
	}
}
