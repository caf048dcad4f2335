package writes

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/divandb/divan/layer/kv/embedded/internal/keys"
)

// keyTable is a Table with keys only.
type keyTable struct{ t Table }

func keyOf(w *Write) string {
	if w == nil {
		return ""
	}
	return string(w.Key)
}

func (t *keyTable) Put(key, value string) { t.t.put(&Write{Key: []byte(key), Value: []byte(value)}) }
func (t *keyTable) DeleteRange(begin, end string) {
	t.t.deleteRange(keys.Span{Begin: []byte(begin), End: []byte(end)})
}
func (t *keyTable) Share() *keyTable                  { return &keyTable{t.t.share()} }
func (t *keyTable) Len() int                          { return t.t.Len() }
func (t *keyTable) From(key string, past bool) string { return keyOf(t.t.From([]byte(key), past)) }
func (t *keyTable) Before(key string) string          { return keyOf(t.t.Before([]byte(key))) }

// All returns the keys and values in order.
func (t *keyTable) All() (all []string) {
	t.t.Ascend(func(w *Write) { all = append(all, string(w.Key)+"="+string(w.Value)) })
	return all
}

func (t *keyTable) Get(key string) (value string, ok bool) {
	if w := t.t.get([]byte(key)); w != nil {
		return string(w.Value), true
	}
	return "", false
}

// TestWriteTable compares with a map, with few keys (slice) and many (tree), and checks that a shared table does not
// change.
func TestWriteTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table, model := &keyTable{}, map[string]string{}
		type copied struct {
			table *keyTable
			want  []string
		}
		var shared []copied
		all := func() (all []string) {
			for _, k := range slices.Sorted(maps.Keys(model)) {
				all = append(all, k+"="+model[k])
			}
			return all
		}
		most := rapid.SampledFrom([]int{5, 40, 90}).Draw(t, "keys")
		keys := rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprintf("k%02d", rapid.IntRange(0, most).Draw(t, "key"))
		})
		for i := range rapid.IntRange(1, 120).Draw(t, "steps") {
			switch rapid.IntRange(0, 20).Draw(t, "what") {
			case 0:
				begin, end := keys.Draw(t, "begin"), keys.Draw(t, "end")
				if begin >= end {
					continue
				}
				table.DeleteRange(begin, end)
				maps.DeleteFunc(model, func(k, _ string) bool { return k >= begin && k < end })
			case 1:
				shared = append(shared, copied{table.Share(), all()})
			default:
				k := keys.Draw(t, "k")
				table.Put(k, fmt.Sprint(i))
				model[k] = fmt.Sprint(i)
			}
			want := all()
			if got := table.All(); !slices.Equal(got, want) || table.Len() != len(want) {
				t.Fatalf("%d: %v, want %v", table.Len(), got, want)
			}
			k := keys.Draw(t, "at")
			value, ok := table.Get(k)
			if was, is := model[k]; value != was || ok != is {
				t.Fatalf("get %s: %q %v, want %q %v", k, value, ok, was, is)
			}
			from, past, before := "", "", ""
			for _, key := range slices.Sorted(maps.Keys(model)) {
				if key < k {
					before = key
				}
				if key >= k && from == "" {
					from = key
				}
				if key > k && past == "" {
					past = key
				}
			}
			if f, p, b := table.From(k, false), table.From(k, true), table.Before(k); f != from || p != past ||
				b != before {
				t.Fatalf("around %s: %q %q %q, want %q %q %q", k, f, p, b, from, past, before)
			}
		}
		for _, s := range shared {
			if got := s.table.All(); !slices.Equal(got, s.want) {
				t.Fatalf("shared: %v, want %v", got, s.want)
			}
		}
	})
}
