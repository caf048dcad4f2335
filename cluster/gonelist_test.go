package cluster

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// What members tell of those that are gone is tested from inside, with what other versions and faults could tell.
func TestGone(t *testing.T) {
	start := time.Unix(1000, 0)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	meta := func(id string) metadata { return metadata{ID: id, Remote: "127.0.0.1:1", Version: "v"} }
	one := func(name string) *view {
		v := newView(name, time.Second)
		v.joined(start, name, "127.0.0.1:1", meta(name+"1"))
		return v
	}
	listed := func(v *view, now time.Time) (s string) {
		for _, m := range v.members(now) {
			if !m.Self {
				s += fmt.Sprintf("%s %s %s %v ", m.Name, m.State(), m.ID, m.GoneSince.Sub(start).Seconds())
			}
		}
		return s
	}
	teller := one("a")
	for _, n := range []string{"b", "c", "d", "up"} {
		teller.joined(start, n, "127.0.0.2:7946", meta(n+"1"))
		teller.answered(at(5), n, "")
	}
	teller.giveUp(at(9), "b")
	teller.saysLeft(at(10), "c1", 0)
	teller.giveUp(at(11), "d")
	teller.events = nil
	const all = "b dead b1 9 c left c1 10 d dead d1 11 "

	t.Run("is learned as it was told, without events, once", func(t *testing.T) {
		v := one("x")
		learnGone(v, at(20), decodeGone(tellGone(teller, at(20))))
		learnGone(v, at(25), decodeGone(tellGone(teller, at(20)))) // an old one, which changes nothing
		if got := listed(v, at(20)); got != all || len(v.events) != 0 {
			t.Errorf("it lists %q, and tells %+v", got, v.events)
		}
		if len(v.reachable()) != 1 || len(v.lost(at(20))) != 2 {
			t.Errorf("reachable %v, looked for %v", v.reachable(), v.lost(at(20)))
		}
		third := one("y") // hears it from that one
		learnGone(third, at(30), decodeGone(tellGone(v, at(30))))
		if got := listed(third, at(30)); got != all {
			t.Errorf("a third one lists %q", got)
		}
		third.joined(at(40), "b", "127.0.0.2:7946", meta("b2"))
		if e := third.events; len(e) != 1 || e[0].Kind != MemberReturned || !e[0].Since.Equal(at(5)) {
			t.Errorf("when one returns it tells %+v", e)
		}
	})
	t.Run("is not learned of this member and of those that are known", func(t *testing.T) {
		v := one("b")
		v.joined(start, "c", "127.0.0.2:7946", meta("c1"))
		v.joined(start, "d", "127.0.0.2:7946", meta("d1"))
		v.giveUp(at(12), "d")
		learnGone(v, at(20), decodeGone(tellGone(teller, at(20))))
		if m := v.members(at(20)); len(m) != 3 || m[0].Status == Left || m[1].Status == Left ||
			!m[2].GoneSince.Equal(at(12)) {
			t.Errorf("it lists %+v", m)
		}
	})
	t.Run("is not learned again after it was forgotten, unless it lived since", func(t *testing.T) {
		v := one("x")
		v.forget("b", at(15)) // before it is known
		learnGone(v, at(20), decodeGone(tellGone(teller, at(20))))
		v.forget("d", at(20))
		hung := one("z") // was paused from before d went until at(30), and sees it go then
		hung.joined(start, "d", "127.0.0.2:7946", meta("d1"))
		hung.answered(at(5), "d", "")
		hung.giveUp(at(30), "d")
		for _, from := range []*view{teller, hung} {
			learnGone(v, at(31), decodeGone(tellGone(from, at(31))))
		}
		if got := listed(v, at(31)); got != "c left c1 10 " {
			t.Errorf("it lists %q", got)
		}
		hung.joined(at(40), "d", "127.0.0.2:7946", meta("d2"))
		hung.giveUp(at(50), "d")
		learnGone(v, at(51), decodeGone(tellGone(hung, at(51))))
		if got := listed(v, at(51)); got != "c left c1 10 d dead d2 50 " {
			t.Errorf("then it lists %q", got)
		}
	})
	t.Run("ends before members drop it", func(t *testing.T) {
		v := one("x")
		learnGone(v, at(20), decodeGone(tellGone(teller, at(20))))
		day := start.Add(keepLeft)
		if b := tellGone(v, day); b != nil {
			t.Errorf("after a day it tells %s", b)
		}
		if got := listed(v, day.Add(time.Minute)); got != "" {
			t.Errorf("it lists %q", got)
		}
		v.forget("b", at(30))
		if v.members(at(30).Add(3 * keepLeft)); len(v.forgotten) != 0 {
			t.Errorf("it remembers %v", v.forgotten)
		}
	})
	t.Run("is bounded", func(t *testing.T) {
		many := one("a")
		for i := range 3 * maxGone {
			name := fmt.Sprintf("%0128d", i)
			long := meta(name)
			long.HTTP = strings.Repeat("h", 280)
			many.joined(start, name, "127.0.0.2:7946", long)
			many.giveUp(at(i), name)
		}
		b := tellGone(many, at(3*maxGone))
		list := decodeGone(b)
		if len(b) > maxGoneState || len(list) != maxGone || list[0].Name != fmt.Sprintf("%0128d", 3*maxGone-1) {
			t.Fatalf("%d bytes tell %d", len(b), len(list))
		}
		v := one("x")
		learnGone(v, at(700), decodeGone(tellGone(teller, at(20))))
		learnGone(v, at(700), list)
		if n := len(v.members(at(700))); n != 1+maxGone {
			t.Errorf("it lists %d", n)
		}
		for i := range 2 * maxForgotten {
			v.forget(fmt.Sprint(i), at(i))
		}
		if _, ok := v.forgotten[fmt.Sprint(2*maxForgotten-1)]; !ok || len(v.forgotten) != maxForgotten {
			t.Errorf("it remembers %d", len(v.forgotten))
		}
	})
	t.Run("is left out where it is not understood", func(t *testing.T) {
		good := `{"n":"b","g":"127.0.0.1:1","m":{"i":"b1"},"t":1,"more":[1]}`
		bad := []string{`1`, `null`, `{}`, `{"n":1}`, `{"n":"","g":"127.0.0.1:1","t":1}`,
			`{"n":"x","g":"host:1","t":1}`,
			`{"n":"x","g":"127.0.0.1:1","t":-1}`, `{"n":"x","g":"127.0.0.1:1","t":90000000}`,
			`{"n":"x","g":"127.0.0.1:1","t":1,"s":9000000000000000000}`, `{"n":"x","g":"127.0.0.1:1","t":1,"s":-1}`,
			`{"n":"` + strings.Repeat("x", 129) + `","g":"127.0.0.1:1","t":1}`,
			`{"n":"x","g":"127.0.0.1:1","t":1,"m":{"h":"` + strings.Repeat("x", 600) + `"}}`}
		list := decodeGone([]byte(`{"gone":[` + strings.Join(append(bad, good), ",") + `],"other":1}`))
		if len(list) != 1 || list[0].Name != "b" {
			t.Errorf("it learns %+v", list)
		}
		for _, b := range []string{"", "x", "[]", `{"gone":1}`, "\xff\x00",
			`{"gone":[` + good + strings.Repeat(" ", maxGoneState) + `]}`} {
			if list := decodeGone([]byte(b)); len(list) != 0 {
				t.Errorf("of %.20q it learns %+v", b, list)
			}
		}
		if !json.Valid(tellGone(teller, at(20))) || tellGone(one("a"), at(20)) != nil {
			t.Error("it is not JSON, or there where nobody is gone")
		}
	})
}
