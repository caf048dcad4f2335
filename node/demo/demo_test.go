package demo

import (
	"encoding/json"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestGenerator_repeatable(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	documents := func() string {
		g := newGenerator(1, 30, now)
		var all []doc
		people := make([]customer, 30)
		for i := range people {
			people[i] = g.customer(i)
			all = append(all, people[i])
		}
		for i := range 200 {
			all = append(all, g.order(i, people, time.Duration(200-i)*time.Hour))
		}
		for i := range 40 {
			all = append(all, g.reading(i%len(rooms), now.Add(-time.Duration(i)*time.Minute)))
		}
		text, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	first := documents()
	if again := documents(); first != again {
		t.Errorf("the same seed makes other documents:\n%s\n%s", first, again)
	}
}

func TestGenerator_order(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	g := newGenerator(2, 1, now)
	people := []customer{g.customer(0)}
	for _, c := range []struct {
		ago        time.Duration
		status, at string
	}{
		{0, "new", "2026-05-01T12:00:00Z"},
		{49 * time.Hour, "packed", "2026-04-29T11:00:00Z"},
		{1000 * time.Hour, "delivered", "2026-03-20T20:00:00Z"},
	} {
		o := g.order(1, people, c.ago)
		if o.Status != c.status || o.At != c.at || o.Customer != people[0].ID || o.Country != people[0].Country {
			t.Errorf("an order of %v ago: %+v", c.ago, o)
		}
		cents := 0
		for _, i := range o.Items {
			cents += i.Quantity * int(100*i.Price+0.5)
		}
		if int(100*o.Total+0.5) != cents {
			t.Errorf("the total of %+v is not %d cents", o, cents)
		}
	}
}

func TestDivide(t *testing.T) {
	for _, documents := range []int{0, 1, 100, 50_000, 1_000_000} {
		s := divide(documents)
		if s.customers < withConflicts || s.orders < 1 || s.readings < 0 {
			t.Errorf("%d documents: %+v", documents, s)
		}
		if sum := s.customers + s.orders + s.readings; documents >= 100 && sum != documents {
			t.Errorf("%d documents: %+v are %d", documents, s, sum)
		}
	}
}

func TestPorts_check(t *testing.T) {
	for _, c := range []struct {
		ports Ports
		nodes int
		want  string
	}{
		{DefaultPorts(), 99, ""},
		{Ports{HTTP: 70000, SQL: 5433, Gossip: 7946}, 1, "no port 70000"},
		{Ports{HTTP: 5984, SQL: 5433, Gossip: 65530}, 2, "no port 65540"},
		{Ports{HTTP: 5984, SQL: 5984, Gossip: 7946}, 1, "used twice"},
		{Ports{HTTP: 5984, SQL: 5982, Gossip: 7946}, 3, "used twice"},
	} {
		err := c.ports.check(c.nodes)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v for %d nodes: %v, want %q", c.ports, c.nodes, err, c.want)
		}
	}
}

func TestPorts_free(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, text, _ := net.SplitHostPort(l.Addr().String())
	used, _ := strconv.Atoi(text)
	if used > 65535-3*portStep {
		t.Skip("there are no ports above the one that the system chose")
	}
	// The second node's HTTP port is in use.
	p := Ports{HTTP: used - 1, SQL: used - 200, Gossip: used - 400}
	q, err := p.free(t.Context(), 2)
	if err != nil || q == p {
		t.Fatalf("%+v, %v; want other ports than %+v", q, err, p)
	}
	if (q.HTTP-p.HTTP)%portStep != 0 || q.SQL-p.SQL != q.HTTP-p.HTTP || q.Gossip-p.Gossip != q.HTTP-p.HTTP {
		t.Errorf("%+v is not %+v shifted", q, p)
	}
}

func TestFields(t *testing.T) {
	got := fields("divan ready name=node1 http=127.0.0.1:5984 sql=127.0.0.1:5433 gossip=127.0.0.1:7946 " +
		"data=/a b/c engine=embedded")
	for name, want := range map[string]string{"name": "node1", "http": "127.0.0.1:5984", "engine": "embedded"} {
		if got[name] != want {
			t.Errorf("%s is %q", name, got[name])
		}
	}
}
