package faultkv_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/faultkv"
)

// TestEngine_Hang checks that calls and watches wait for an engine that does not answer, but not for ever.
func TestEngine_Hang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := open(t, faultkv.Options{Rates: faultkv.Rates{Slow: 1e-9}})
		armed := e.Begin(t.Context())
		w := armed.Watch([]byte("a"))
		if err := armed.Commit(); err != nil {
			t.Fatal(err)
		}
		e.Hang()
		e.Hang()
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := e.Begin(ctx).Get([]byte("a")).Wait()
		if took := time.Since(begin); !errors.Is(err, context.DeadlineExceeded) || took != time.Second {
			t.Errorf("a read failed after %v: %v", took, err)
		}
		begin = time.Now()
		tx := e.Begin(t.Context())
		tx.Set([]byte("a"), []byte("1"))
		err = tx.Commit()
		if took := time.Since(begin); !kv.IsCode(err, kv.CodeUnreachable) || took != 10*time.Second {
			t.Errorf("a commit failed after %v: %v", took, err)
		}
		e.Resume()
		if got := stored(t, e, "a"); got != "" {
			t.Errorf("a commit that was never sent wrote %q", got)
		}

		e.Hang()
		done := make(chan error)
		go func() {
			tx := e.Begin(t.Context())
			tx.Set([]byte("a"), []byte("2"))
			done <- tx.Commit()
		}()
		time.Sleep(5 * time.Second)
		select {
		case err := <-done:
			t.Fatalf("a commit did not wait: %v", err)
		case <-w.Done():
			t.Fatal("a watch fired before its commit")
		default:
		}
		e.Resume()
		if err := <-done; err != nil {
			t.Error(err)
		}
		<-w.Done()
		if got := stored(t, e, "a"); got != "2" {
			t.Errorf("the store has %q", got)
		}
	})
}

// TestEngine_Fill checks that a full disk admits only commits that make room.
func TestEngine_Fill(t *testing.T) {
	e := open(t, faultkv.Options{Rates: faultkv.Rates{Slow: 1e-9}})
	write := func(room bool) error {
		tx := e.Begin(t.Context())
		tx.Set([]byte("a"), []byte("1"))
		if room {
			tx.MakesRoom()
		}
		return tx.Commit()
	}
	e.Fill(true)
	if err := write(false); !kv.IsCode(err, kv.CodeDiskFull) {
		t.Errorf("a full disk took a write: %v", err)
	}
	if got := stored(t, e, "a"); got != "" {
		t.Errorf("the store has %q", got)
	}
	if err := write(true); err != nil {
		t.Errorf("a full disk refused a write that makes room: %v", err)
	}
	e.Fill(false)
	if err := write(false); err != nil {
		t.Error(err)
	}
	if n := e.Injected()[faultkv.Full]; n != 1 {
		t.Errorf("%d injected", n)
	}
}
