package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/divandb/divan/cluster"
)

// answerTests answers what TestRequest asks.
func answerTests(ctx context.Context, from string, request []byte) ([]byte, error) {
	switch what := string(request); what {
	case "wait":
		<-ctx.Done()
		return nil, ctx.Err()
	case "panic":
		panic("a test")
	case "refuse":
		return nil, errors.New("not today")
	case "large":
		return bytes.Repeat([]byte{'x'}, cluster.MaxMessage), nil
	case "too large":
		return make([]byte, cluster.MaxMessage+1), nil
	default:
		return []byte(from + " asks " + what), nil
	}
}

func TestRequest(t *testing.T) {
	o := options(t, "one")
	o.Secret = "a shared secret of members"
	o.Answer = answerTests
	c := started(t, o)
	two := startProcess(t, memberSpec{Name: "two", Secret: o.Secret, Join: []string{c.Addr()}})
	sees(t, c, "one=alive two=alive")
	sees(t, two, "one=alive two=alive")
	ask := func(within time.Duration, what string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		b, err := c.Request(ctx, "two", []byte(what))
		return string(b), err
	}
	eventually(t, 10*time.Second, func() string { // the placement of both follows a moment later
		if got, err := ask(time.Second, "hello"); err != nil || got != "one asks hello" {
			return fmt.Sprintf("%q, %v", got, err)
		}
		return ""
	})

	t.Run("requests wait for their own answers", func(t *testing.T) {
		var asking sync.WaitGroup
		for i := range 20 {
			asking.Go(func() {
				if got, err := ask(10*time.Second, fmt.Sprint(i)); err != nil || got != fmt.Sprint("one asks ", i) {
					t.Errorf("%d: %q, %v", i, got, err)
				}
			})
		}
		asking.Wait()
	})
	t.Run("an answer is up to a megabyte", func(t *testing.T) {
		if got, err := ask(10*time.Second, "large"); err != nil || len(got) != cluster.MaxMessage {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		if _, err := c.Request(t.Context(), "two", make([]byte, cluster.MaxMessage+1)); err == nil {
			t.Error("a request that is too large is sent")
		}
	})
	for what, want := range map[string]string{"refuse": "not today", "panic": "failed: a test",
		"too large": "is too large"} {
		t.Run(what, func(t *testing.T) {
			_, err := ask(10*time.Second, what)
			var refused *cluster.RequestError
			if !errors.As(err, &refused) || refused.Member != "two" || !strings.Contains(refused.Reason, want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
	t.Run("more requests than are processed at once are refused", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var asking sync.WaitGroup
		defer asking.Wait()
		defer cancel()
		refused := make(chan error, 100)
		for range 40 {
			asking.Go(func() {
				_, err := c.Request(ctx, "two", []byte("wait"))
				var r *cluster.RequestError
				if errors.As(err, &r) {
					refused <- err
				}
			})
		}
		for range 8 {
			if err := <-refused; !strings.Contains(err.Error(), "too many requests") {
				t.Error(err)
			}
		}
	})
	t.Run("unknown members and this one", func(t *testing.T) {
		for _, name := range []string{"three", "one"} {
			if _, err := c.Request(t.Context(), name, nil); !errors.Is(err, cluster.ErrNotMember) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	t.Run("a member that stands still does not hold up its requests", func(t *testing.T) {
		two.signal(stopSignal)
		defer two.signal(continueSignal)
		begin := time.Now()
		if _, err := ask(200*time.Millisecond, "hello"); err == nil {
			t.Error("it answers")
		}
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// A member tells what happens to the others, once each.
func TestNotify(t *testing.T) {
	o := options(t, "one")
	var mu sync.Mutex
	var seen []string
	var silent time.Duration
	o.Notify = func(e cluster.Event) {
		mu.Lock()
		defer mu.Unlock()
		if e.Kind != cluster.MemberSuspected { // it may be given up sooner
			seen = append(seen, string(e.Kind)+" "+e.Member)
		}
		if e.Kind == cluster.MemberDead {
			silent = e.At.Sub(e.Since)
		}
	}
	c := started(t, o)
	has := func(want string) {
		t.Helper()
		eventually(t, 20*time.Second, func() string {
			mu.Lock()
			defer mu.Unlock()
			if got := strings.Join(seen, ", "); got != want {
				return fmt.Sprintf("seen %q, want %q", got, want)
			}
			return ""
		})
	}
	two := startProcess(t, memberSpec{Name: "two", Join: []string{c.Addr()}})
	has("joined two")
	time.Sleep(time.Second) // one that has never answered is not known to be silent since then
	two.signal(stopSignal)
	has("joined two, dead two")
	mu.Lock()
	if silent < 200*time.Millisecond || silent > 10*time.Second {
		t.Errorf("it was silent for %v", silent)
	}
	seen = nil
	mu.Unlock()
	two.signal(continueSignal)
	eventually(t, 20*time.Second, func() string { // under its old id at first, perhaps
		mu.Lock()
		defer mu.Unlock()
		if len(seen) == 0 || seen[0] != "returned two" {
			return fmt.Sprintf("seen %q", seen)
		}
		return ""
	})
	sees(t, two, "one=alive two=alive")
	two.stop()
	eventually(t, 20*time.Second, func() string {
		mu.Lock()
		defer mu.Unlock()
		if seen[len(seen)-1] != "left two" {
			return fmt.Sprintf("seen %q", seen)
		}
		return ""
	})
}
