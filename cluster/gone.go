package cluster

import (
	"encoding/json"
	"net/netip"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/hashicorp/memberlist"
)

// memberlist tells a member that starts of those that are up. The members tell it of those that are gone too, whenever
// two of them exchange everything they know, so that all list the same. Nothing follows from that but the list: who
// learns of such a member has not seen it go, and tells no event of it.

// goneMember is what members tell of one that is gone. The times are for how long, in milliseconds: no two clocks are
// compared.
type goneMember struct {
	Name   string   `json:"n"`
	Gossip string   `json:"g"`
	Meta   metadata `json:"m"`
	Left   bool     `json:"l,omitempty"` // it had announced that it leaves
	Gone   int64    `json:"t"`           // since it was seen to go
	Silent int64    `json:"s,omitempty"` // since it was last heard; 0 if the teller never heard it
}

const (
	// maxGone bounds how many gone members are told, and how many are known when more are learned.
	maxGone = 200
	// maxGoneState bounds what is decoded, in bytes.
	maxGoneState = 256 << 10
	// toldGone is for how long a gone member is told: less than keepLeft, or two members would tell each other again
	// and again of one that each has just dropped.
	toldGone = keepLeft - 10*time.Minute
	// longestSilent is the longest silence that counts.
	longestSilent = 30 * 24 * time.Hour
)

// tellGone encodes the members that are gone, those that went last first. It returns nil if there are none.
func tellGone(v *view, now time.Time) []byte {
	var list []goneMember
	for _, e := range v.entries {
		if gone := now.Sub(e.left); !e.up && gone < toldGone {
			m := goneMember{Name: e.name, Gossip: e.gossip, Meta: e.meta, Left: e.announcedLeave(),
				Gone: max(0, gone.Milliseconds())}
			if !e.heard.IsZero() {
				m.Silent = max(1, now.Sub(e.heard).Milliseconds())
			}
			list = append(list, m)
		}
	}
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(a, b goneMember) int { return int(a.Gone - b.Gone) })
	b, err := json.Marshal(struct {
		Gone []goneMember `json:"gone"`
	}{list[:min(len(list), maxGone)]})
	if err != nil {
		panic(err) // encoding strings and numbers never fails
	}
	return b
}

// decodeGone decodes what another member tells. What is not understood is left out: the other one may have another
// version.
func decodeGone(b []byte) (list []goneMember) {
	var state struct {
		Gone []json.RawMessage `json:"gone"`
	}
	if len(b) > maxGoneState || json.Unmarshal(b, &state) != nil {
		return nil
	}
	for _, raw := range state.Gone[:min(len(state.Gone), maxGone)] {
		var m goneMember
		if json.Unmarshal(raw, &m) == nil && m.valid() {
			list = append(list, m)
		}
	}
	return list
}

func (m *goneMember) valid() bool {
	_, err := netip.ParseAddrPort(m.Gossip)
	return err == nil && m.Name != "" && len(m.Name) <= longestName && utf8.ValidString(m.Name) &&
		len(encodeMetadata(m.Meta)) <= memberlist.MetaMaxSize && m.Gone >= 0 && m.Gone < toldGone.Milliseconds() &&
		m.Silent >= 0 && m.Silent < longestSilent.Milliseconds()
}

// learnGone adds members that others tell to be gone, as far as their names are not known here and were not forgotten
// since they were last heard.
func learnGone(v *view, now time.Time, list []goneMember) {
	ago := func(ms int64) time.Time { return now.Add(-time.Duration(ms) * time.Millisecond) }
	room := maxGone
	for _, e := range v.entries {
		if !e.up {
			room--
		}
	}
	for _, m := range list {
		if v.entries[m.Name] != nil || m.Name == v.self || room <= 0 {
			continue
		}
		e := &entry{name: m.Name, gossip: m.Gossip, meta: m.Meta, left: ago(m.Gone), saidLeft: m.Left}
		if m.Silent > 0 {
			e.heard = ago(m.Silent)
		}
		if !v.forgotten.holds(e) {
			v.entries[m.Name] = e
			room--
		}
	}
}

// forgotten is when members were forgotten, by name, so that they do not come back from members that have not heard of
// that yet, such as one that hangs: it takes the member for one that went when it wakes.
type forgotten map[string]time.Time

// maxForgotten bounds how many names are remembered.
const maxForgotten = 1000

// add records that a member was forgotten at a time.
func (f forgotten) add(name string, at time.Time) {
	if _, ok := f[name]; !ok && len(f) >= maxForgotten {
		oldest := name
		for n, t := range f {
			if oldest == name || t.Before(f[oldest]) {
				oldest = n
			}
		}
		delete(f, oldest)
	}
	if at.After(f[name]) {
		f[name] = at
	}
}

// holds reports whether a gone member was forgotten, and not heard by anyone since.
func (f forgotten) holds(e *entry) bool {
	at, ok := f[e.name]
	return ok && !e.heard.After(at)
}

// prune removes what is so old that nobody tells of those members any more.
func (f forgotten) prune(now time.Time) {
	for name, at := range f {
		if now.Sub(at) > 2*keepLeft {
			delete(f, name)
		}
	}
}
