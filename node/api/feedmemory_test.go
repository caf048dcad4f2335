package api_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/divandb/divan/node/api"
)

// Waiting feeds hold little more than the ids that they were given. A client that uses its whole share of the memory
// for them does not affect others, and its next feed begins once enough of its earlier ones have ended.
func TestChanges_HeldMemory(t *testing.T) {
	admins := []string{"_admin"}
	s := serve(t, func(o *api.Options) {
		o.Limits.Bodies = 32 << 20
		o.Auth = testAuth{"anna": {"anna", admins}, "bob": {"bob", admins}}
	})
	var ids []string
	for i := range 20_000 {
		ids = append(ids, fmt.Sprintf(`"%09d"`, i))
	}
	body := `{"doc_ids":[` + strings.Join(ids, ",") + `]}`
	if a := s.ask(t, "PUT", "/db", "", "Authorization", "Basic YW5uYTphbm5h"); a.status != http.StatusCreated {
		t.Fatal(a.status)
	}
	// open starts a feed of these ids for a user.
	open := func(user string) (end func()) {
		ctx, cancel := context.WithCancel(t.Context())
		url := s.URL + "/db/_changes?feed=continuous&since=now&heartbeat=1000&filter=_doc_ids"
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return cancel
		}
		r.SetBasicAuth(user, user)
		r.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Error(err)
			return cancel
		}
		if _, err := bufio.NewReader(res.Body).ReadString('\n'); err != nil || res.StatusCode != http.StatusOK {
			t.Errorf("a feed of %s: %s %v", user, res.Status, err)
		}
		return func() { cancel(); res.Body.Close() }
	}
	var ends []func()
	defer func() {
		for _, end := range ends {
			end()
		}
	}()
	const share = 5 // the number of feeds that one client may have
	for range share {
		ends = append(ends, open("anna"))
	}
	if held, _ := s.api.Bodies(); held > share*2*int64(len(body)) {
		t.Errorf("%d feeds hold %d bytes, for bodies of %d", share, held, len(body))
	}
	next := make(chan func())
	go func() { next <- open("anna") }() // waits
	ends = append(ends, open("bob"), open("bob"))
	ends[0]() // two feeds, because there are other clients now
	ends[1]()
	ends[0] = <-next
	if _, refused := s.api.Bodies(); refused != 0 {
		t.Errorf("%d feeds were refused", refused)
	}
}
