package console_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/node/console/state"
)

// The conflicts of the databases that a page shows are counted once for each of their versions, in a bounded time, and
// those of large ones only when somebody asks.
func TestConsole_Conflicts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		net, consoles, _ := cluster(1)
		p := net.parts[0]
		p.versions, p.entries = map[string]int{}, map[string]int64{"large": 2001, "full": 2000}
		handler := consoles[0].Handler("/api")
		get := func(query string) (status int, got string) {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/conflicts?"+query, nil))
			var page state.ConflictsPage
			if w.Code == http.StatusOK {
				if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil {
					t.Fatal(err)
				}
			}
			for _, c := range page.Databases {
				got += c.Database
				if c.Documents != nil {
					got += fmt.Sprint("=", *c.Documents)
				}
				if c.At != nil {
					got += fmt.Sprint(" of ", time.Since(*c.At), " ago")
				}
				got += c.Error + " "
			}
			return w.Code, got
		}
		ask := func(query, want string, counts int64) {
			t.Helper()
			before := p.reads.Load()
			status, got := get(query)
			if n := p.reads.Load() - before; status != http.StatusOK || got != want || n != counts {
				t.Errorf("%s: %d %q, %d are counted; want %q, %d", query, status, got, n, want, counts)
			}
		}
		ask("database=a&database=full&database=large", "a=1 full=4 large ", 2)
		ask("database=a&database=full&database=large", "a=1 full=4 large ", 0)
		p.versions["a"]++ // by a write
		ask("database=a&database=full", "a=1 full=4 ", 1)
		ask("database=large&asked=true", "large=5 ", 1)
		ask("database=large&database=a", "large=5 a=1 ", 0)
		p.versions["large"]++
		time.Sleep(3 * time.Second)
		ask("database=large", "large=5 of 3s ago ", 0)

		// Databases that change all the time cost no more than a part of the time.
		p.slow = 300 * time.Millisecond
		p.versions["a"]++
		ask("database=a", "a=1 ", 1)
		p.versions["a"]++
		time.Sleep(5 * time.Second)
		ask("database=a&database=full", "a=1 of 5.3s ago full=4 ", 0)
		time.Sleep(time.Second)
		ask("database=a", "a=1 ", 1)
		p.versions["a"]++
		ask("database=a&asked=true", "a=1 ", 1)

		p.slow = 300 * time.Millisecond
		names := url.Values{}
		for i := range 50 {
			names.Add("database", fmt.Sprintf("db%02d", i))
		}
		begun, all := time.Now(), 0
		for all < 50 {
			status, got := get(names.Encode())
			if n := strings.Count(got, "="); status != http.StatusOK || n <= all && all < 50 {
				t.Fatalf("%d after %d: %d %s", n, all, status, got)
			} else {
				all = n
			}
			if took := time.Since(begun); took > 2*time.Second {
				t.Errorf("an answer took %v", took)
			}
			begun = time.Now()
		}
		p.slow = 2 * time.Minute
		if status, _ := get("database=large&asked=true"); status != http.StatusServiceUnavailable {
			t.Errorf("one that takes too long: status %d", status)
		}
		p.slow, p.lost = 0, errors.New("no answer")
		ask("database=a", "ano answer ", 0)
		for _, bad := range []string{"", "asked=true", "database=a&database=b&asked=true",
			strings.Repeat("database=a&", 501)} {
			if status, _ := get(bad); status != http.StatusBadRequest {
				t.Errorf("%.40q: status %d", bad, status)
			}
		}
	})
}
