package layer_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

// A transaction that is too large is repeated with fewer and fewer items, and later ones begin with that number. After
// a success, later ones try more.
func TestPortions(t *testing.T) {
	for _, fits := range []int{1, 7, 100, 499, 10_000} {
		p := layer.NewPortions(500)
		const items = 20_000
		runs, failed, largest := 0, 0, 0
		for left := items; left > 0; {
			n, err := p.Run(left, func(n int, divisible bool) (int, error) {
				if divisible != (n > 1) {
					t.Errorf("%d items: divisible %t", n, divisible)
				}
				if n > fits {
					failed++
					return 0, kv.NewError(kv.CodeTransactionTooLarge, "too large", nil)
				}
				runs++
				largest = max(largest, n)
				return n, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			left -= n
		}
		fits = min(fits, 500)
		if largest <= fits/2 && fits > 1 {
			t.Errorf("%d fit, and never more than %d were tried", fits, largest)
		}
		if most := 2*items/fits + 10; runs > most || failed > 20 {
			t.Errorf("%d fit: %d transactions, more than %d, or %d failed ones", fits, runs, most, failed)
		}
		t.Logf("%d fit: %d transactions of up to %d items, %d that were too much", fits, runs, largest, failed)
	}
}

// A single item that is too large returns its error, and other errors end the work at once.
func TestPortions_ends(t *testing.T) {
	other := errors.New("other")
	for name, c := range map[string]struct {
		err   error
		calls int
	}{
		"too much": {kv.NewError(kv.CodeTransactionTooLarge, "too large", nil), 4}, // of 8, 4, 2, 1
		"other":    {other, 1},
		"conflict": {kv.NewError(kv.CodeNotCommitted, "conflict", nil), 1}, // handled by the retry loop
	} {
		calls := 0
		n, err := layer.NewPortions(8).Run(0, func(n int, _ bool) (int, error) {
			calls++
			return n, c.err
		})
		if !errors.Is(err, c.err) || n != 0 || calls != c.calls {
			t.Errorf("%s: %d, %v after %d calls", name, n, err, calls)
		}
	}
}

// A transaction that has read enough says how many items it took, and the next one begins with as many. One that fails
// after trying only some of its items halves that number.
func TestPortions_tried(t *testing.T) {
	p := layer.NewPortions(500)
	if n, err := p.Run(500, func(int, bool) (int, error) { return 40, nil }); n != 40 || err != nil {
		t.Fatal(n, err)
	}
	var asked []int
	n, err := p.Run(460, func(n int, _ bool) (int, error) {
		if asked = append(asked, n); n > 5 {
			return 10, kv.NewError(kv.CodeTransactionTooLarge, "too large", nil)
		}
		return n, nil
	})
	if err != nil || n != 5 || len(asked) != 2 || asked[0] != 40 || asked[1] != 5 {
		t.Errorf("%d, %v: asked %v", n, err, asked)
	}
}

// After a transaction that took long, the next one takes half as many items.
func TestPortions_slow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := layer.NewPortions(500)
		var asked []int
		for range 4 {
			if _, err := p.Run(0, func(n int, _ bool) (int, error) {
				asked = append(asked, n)
				time.Sleep(time.Duration(n) * 10 * time.Millisecond)
				return n, nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		if want := []int{500, 250, 125, 62}; !slices.Equal(asked, want) {
			t.Errorf("asked for %v items, want %v", asked, want)
		}
	})
}
