package db_test

import (
	"bytes"
	"testing"

	"github.com/divandb/divan/layer/internal/db"
)

// Keys of all lengths keep their content, and need few allocations.
func TestRawKeys(t *testing.T) {
	var keys db.RawKeys
	var made [][]byte
	for n := range 3000 {
		made = append(made, keys.Close(append(keys.Open(), bytes.Repeat([]byte{byte(n)}, n%700)...)))
	}
	for n, key := range made {
		if !bytes.Equal(key, bytes.Repeat([]byte{byte(n)}, n%700)) {
			t.Fatalf("key %d is %q", n, key)
		}
	}
	for _, length := range []int{30, 300, 3000} {
		key := make([]byte, length)
		if got := testing.AllocsPerRun(10, func() {
			var keys db.RawKeys
			for range 1000 {
				keys.Close(append(keys.Open(), key...))
			}
		}); got > float64(20+length/8) {
			t.Errorf("1,000 keys of %d bytes need %.0f allocations", length, got)
		}
	}
}
