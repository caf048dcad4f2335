package remote_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
	"github.com/divandb/divan/layer/kv/remote"
)

func works(t *testing.T, e kv.Engine) {
	t.Helper()
	_, _, err := kv.Transact(t.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) ([]byte, error) {
		tx.Set([]byte("works"), []byte("1"))
		return tx.Get([]byte("works")).Wait()
	})
	if err != nil {
		t.Errorf("the store no longer works: %v", err)
	}
}

func TestOpen_secret(t *testing.T) {
	s := mustServe(t, mustEmbed(t))
	start := time.Now()
	if _, err := remote.Open(t.Context(), s.Addr().String(),
		remote.Options{Secret: "another", Logger: quiet(t)}); err == nil || !strings.Contains(err.Error(), "secret") {
		t.Errorf("with another secret: %v", err)
	}
	if d := time.Since(start); d > 2*time.Second {
		t.Errorf("it took %v to fail", d)
	}
	if _, err := remote.Open(t.Context(), s.Addr().String(), remote.Options{Logger: quiet(t)}); err == nil {
		t.Error("opened without a secret")
	}
	if _, err := remote.Serve(mustListen(t), mustEmbed(t), remote.Options{}); err == nil {
		t.Error("served without a secret")
	}
	works(t, mustOpen(t, s.Addr().String()))
}

// While the secret is being changed, each side accepts any of the other's secrets.
func TestOpen_acceptSecrets(t *testing.T) {
	e := mustEmbed(t)
	type secrets struct {
		own    string
		accept []string
	}
	for _, c := range []struct {
		server, client secrets
		want           bool
	}{
		{secrets{"old", nil}, secrets{"old", []string{"new"}}, true},
		{secrets{"old", nil}, secrets{"new", []string{"old"}}, true},
		{secrets{"old", []string{"new"}}, secrets{"new", nil}, true},
		{secrets{"new", []string{"old"}}, secrets{"old", nil}, true},
		{secrets{"new", nil}, secrets{"old", nil}, false},
		{secrets{"new", []string{"newer"}}, secrets{"old", []string{"older"}}, false},
		{secrets{"new", nil}, secrets{"new", []string{""}}, false},
	} {
		s, err := remote.Serve(mustListen(t), e,
			remote.Options{Secret: c.server.own, AcceptSecrets: c.server.accept, Logger: quiet(t)})
		if err != nil {
			t.Fatal(err)
		}
		r, err := remote.Open(t.Context(), s.Addr().String(),
			remote.Options{Secret: c.client.own, AcceptSecrets: c.client.accept, Logger: quiet(t)})
		if (err == nil) != c.want {
			t.Errorf("%v at %v: %v", c.client, c.server, err)
		}
		if err == nil {
			works(t, r)
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := remote.Serve(mustListen(t), e,
		remote.Options{Secret: "new", AcceptSecrets: []string{""}}); err == nil {
		t.Error("an empty secret was accepted")
	}
}

// TestOpen_impostor checks that the client rejects a server that does not know the secret, and sends it only random
// bytes and proofs.
func TestOpen_impostor(t *testing.T) {
	l := mustListen(t)
	defer func() { _ = l.Close() }()
	heard := make(chan []byte, 100)
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = nc.Write(append([]byte("divankv2"), make([]byte, 32)...))
			b := make([]byte, 88)
			_, _ = io.ReadFull(nc, b)
			_, _ = nc.Write(bytes.Repeat([]byte{7}, 32))
			_ = nc.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
			more, _ := io.ReadAll(nc)
			heard <- more
			_ = nc.Close()
		}
	}()
	_, err := remote.Open(t.Context(), l.Addr().String(), remote.Options{Secret: secret, Logger: quiet(t)})
	if err == nil || !strings.Contains(err.Error(), "secret") {
		t.Errorf("an impostor was accepted: %v", err)
	}
	if more := <-heard; len(more) > 0 {
		t.Errorf("the client sent %q to an impostor", more)
	}
}

func TestOpen_nobody(t *testing.T) {
	l := mustListen(t)
	addr := l.Addr().String()
	_ = l.Close()
	_, err := remote.Open(t.Context(), addr,
		remote.Options{Secret: secret, Timeout: 100 * time.Millisecond, Logger: quiet(t)})
	if err == nil || !strings.Contains(err.Error(), addr) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := remote.Open(ctx, addr, remote.Options{Secret: secret, Logger: quiet(t)}); err == nil {
		t.Error("opened a store without a server")
	}
}

// TestOpen_waits checks that Open finds a store that starts a moment later.
func TestOpen_waits(t *testing.T) {
	p := mustProxy(t, mustServe(t, mustEmbed(t)).Addr().String())
	p.setRefusing(true)
	time.AfterFunc(200*time.Millisecond, func() { p.setRefusing(false) })
	works(t, mustOpen(t, p.addr()))
}

// TestServer_strangers checks that connections that send anything or nothing do not disturb authenticated clients.
func TestServer_strangers(t *testing.T) {
	s := mustServe(t, mustEmbed(t))
	e := mustOpen(t, s.Addr().String())
	for range 100 { // more than may be in their handshake at once
		nc, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = nc.Close() }()
		junk := make([]byte, rand.IntN(200))
		for i := range junk {
			junk[i] = byte(rand.Uint32())
		}
		_, _ = nc.Write(junk)
	}
	works(t, e)
}

// FuzzServer checks that an authenticated client that sends arbitrary bytes is at worst disconnected.
func FuzzServer(f *testing.F) {
	f.Add(remote.Frame(remote.KindGet, 1, 1, []byte{0, 0, 1, 'a'}))
	f.Add(append(remote.Frame(remote.KindGet, 1, 1, []byte{3, 1, 1, 'a', 0, 1, 'a'}),
		remote.Frame(remote.KindCommit, 2, 2, []byte{0})...))
	f.Add(remote.Frame(remote.KindGetFollowing, 1, 1, []byte{0, 0, 1, 'a', 1, 'b', 1, 'c'}))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	below, err := embedded.Open(f.TempDir(), embedded.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = below.Close() })
	s, err := remote.Serve(mustListen(f), below, remote.Options{Secret: secret, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = s.Close() })
	f.Fuzz(func(t *testing.T, b []byte) {
		nc, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.Shake(nc, secret, [16]byte{1}); err != nil {
			t.Fatal(err)
		}
		_, _ = nc.Write(b)
		_ = nc.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
		_, _ = io.Copy(io.Discard, nc)
		_ = nc.Close()
		// The next connection with this name is admitted once nothing is left of this one.
	})
}

// TestEngine_roundTrips checks that reads which are begun together go out together, and that a transaction which only
// reads does not ask the store to commit it.
func TestEngine_roundTrips(t *testing.T) {
	p := mustProxy(t, mustServe(t, mustEmbed(t)).Addr().String())
	e, err := remote.Open(t.Context(), p.addr(), remote.Options{Secret: secret, Logger: quiet(t)}.WithPing(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	const transactions, keys = 20, 5
	works(t, e) // a ping goes before it
	before := p.sent()
	for range transactions {
		_, _, err := kv.Transact(t.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
			tx.AddReadConflict(kv.KeyRange{Begin: []byte("a"), End: []byte("b")})
			var reads [keys]kv.Future[[]byte]
			for i := range reads {
				reads[i] = tx.Get([]byte{'k', byte(i)})
			}
			for _, f := range reads {
				if _, err := f.Wait(); err != nil {
					return struct{}{}, err
				}
			}
			return struct{}{}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := p.sent() - before; n > transactions {
		t.Errorf("%d transactions sent %d pieces", transactions, n)
	}
}

// TestEngine_manyAtOnce checks that large transactions, long reads and small transactions share the connection, that
// none has to wait for all of another, and that memory is bounded.
func TestEngine_manyAtOnce(t *testing.T) {
	e := mustOpen(t, mustServe(t, mustEmbed(t)).Addr().String())
	var wg sync.WaitGroup
	for w := range 3 {
		wg.Go(func() {
			_, _, err := kv.Transact(t.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
				for i := range 90 {
					tx.Set([]byte{'l', byte(w), byte(i)}, make([]byte, 100_000))
				}
				return struct{}{}, nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for range 3 {
		wg.Go(func() {
			n, from := 0, []byte("l")
			for {
				read, next, err := readLarge(t.Context(), e, from)
				n += read
				if !kv.IsCode(err, kv.CodeTooOld) {
					if err != nil || n != 3*90*100_000 {
						t.Errorf("read %d bytes, %v", n, err)
					}
					return
				}
				from = next // a slow machine needs longer than the five seconds of a transaction
			}
		})
	}
	for range 20 {
		wg.Go(func() {
			for range 20 {
				works(t, e)
			}
		})
	}
	wg.Wait()
}

// readLarge reads the values from a key to the end of l in one transaction, and returns the number of bytes and the
// key to continue from.
func readLarge(ctx context.Context, e kv.Engine, from []byte) (n int, next []byte, err error) {
	tx := e.Begin(ctx)
	defer tx.Cancel()
	it := tx.GetRange(kv.KeyRange{Begin: from, End: []byte("m")}, kv.RangeOptions{Mode: kv.ModeWantAll})
	defer it.Close()
	for next = from; it.Next(); {
		n += len(it.KeyValue().Value)
		next = append(bytes.Clone(it.KeyValue().Key), 0)
	}
	return n, next, it.Err()
}

// TestEngine_abandonedRanges checks that range reads that are closed early or never leave nothing behind.
func TestEngine_abandonedRanges(t *testing.T) {
	below := mustEmbed(t)
	e := mustOpen(t, mustServe(t, below).Addr().String())
	for i := range 10 {
		_, _, err := kv.Transact(t.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
			for j := range 1000 {
				tx.Set([]byte{'k', byte(i), byte(j >> 8), byte(j)}, make([]byte, 100))
			}
			return struct{}{}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 50 {
		tx := e.Begin(t.Context())
		it := tx.GetRange(kv.KeyRange{Begin: []byte("k"), End: []byte("l")}, kv.RangeOptions{Reverse: i%2 == 0})
		for range i * 20 {
			if !it.Next() {
				t.Fatal(it.Err())
			}
		}
		if i%3 == 0 {
			it.Close()
		}
		if i%5 == 0 {
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
		} else {
			tx.Cancel()
		}
		it.Close()
	}
	works(t, e)
}

func TestEngine_Close(t *testing.T) {
	s := mustServe(t, mustEmbed(t))
	e, err := remote.Open(t.Context(), s.Addr().String(), remote.Options{Secret: secret, Logger: quiet(t)})
	if err != nil {
		t.Fatal(err)
	}
	tx, armed := e.Begin(t.Context()), e.Begin(t.Context())
	if _, err := tx.Get([]byte("a")).Wait(); err != nil {
		t.Fatal(err)
	}
	w := armed.Watch([]byte("a"))
	if err := armed.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
	<-w.Done()
	for what, err := range map[string]error{
		"watch":             w.Err(),
		"read":              func() error { _, err := tx.Get([]byte("a")).Wait(); return err }(),
		"a new transaction": func() error { _, err := e.Begin(t.Context()).Get([]byte("a")).Wait(); return err }(),
		"a new snapshot":    func() error { _, err := e.OpenSnapshot(t.Context()); return err }(),
	} {
		if !kv.IsCode(err, kv.CodeCancelled) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestEngine_Checkpoint(t *testing.T) {
	e := mustOpen(t, mustServe(t, mustEmbed(t)).Addr().String())
	works(t, e)
	dir := filepath.Join(t.TempDir(), "backup")
	if err := e.Checkpoint(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	copied, err := embedded.Open(dir, embedded.Options{Logger: quiet(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = copied.Close() }()
	works(t, copied)
	if err := e.Checkpoint(t.Context(), dir); err == nil {
		t.Error("a checkpoint into an existing directory")
	}
	works(t, copied)
}

// ailing is an engine that needs an operator.
type ailing struct {
	kv.Engine
	reasons []string
}

func (a ailing) Degraded() []string { return a.reasons }

// What a store says of itself is known with its first answer, also to a node that is started or connects again, and
// holds until it says something else.
func TestEngine_Degraded(t *testing.T) {
	t.Parallel()
	below := mustEmbed(t)
	full := mustServe(t, ailing{below, []string{"disk_full: 3 MB left"}})
	p := mustProxy(t, full.Addr().String())
	o := remote.Options{Secret: secret, Logger: quiet(t), Timeout: time.Minute}
	e, err := remote.Open(t.Context(), p.addr(), o.WithPing(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	says := func(when, want string) {
		t.Helper()
		if got := strings.Join(e.Degraded(), " "); got != want {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	const reason = "disk_full: 3 MB left"
	works(t, e)
	says("at first", reason)
	p.setRefusing(true)
	p.cut()
	if err := readWithin(t.Context(), e, 100*time.Millisecond); err == nil {
		t.Error("it answers behind a proxy that refuses")
	}
	says("without an answer", reason)
	p.setRefusing(false)
	works(t, e)
	says("again", reason)
	p.redirect(mustServe(t, ailing{Engine: below}).Addr().String())
	p.cut()
	works(t, e)
	says("with space", "")
}
