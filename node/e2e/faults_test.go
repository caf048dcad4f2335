package e2e_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

const (
	faultDocs       = 300
	faultAttachment = 40 << 10
)

// TestProgram_Faults damages one file of a store with single PUTs, every fifth with an attachment, and starts a node on
// it. The node must refuse to start with a message, or serve every acknowledged document. Only reads of a damaged table
// may fail. layer/kv/embedded tests many more cases. DIVAN_FAULT_ROUNDS is the number of rounds, DIVAN_FAULT_SEED the
// seed.
func TestProgram_Faults(t *testing.T) {
	needEmbedded(t)
	rounds, seed := 8, rand.Uint64()
	if n, err := strconv.Atoi(os.Getenv("DIVAN_FAULT_ROUNDS")); err == nil {
		rounds = n
	}
	if s, err := strconv.ParseUint(os.Getenv("DIVAN_FAULT_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("DIVAN_FAULT_SEED=%d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	text := make([]byte, faultAttachment)
	for i := range text {
		text[i] = byte(rng.Uint32())
	}
	attachment := base64.StdEncoding.EncodeToString(text)
	for _, kill := range []bool{true, false} {
		whole := t.TempDir()
		p := start(t, whole)
		c := p.client()
		c.ok("PUT", "/db", "")
		for i := range faultDocs {
			body := fmt.Sprintf(`{"n":%d}`, i)
			if i%5 == 0 {
				body = fmt.Sprintf(`{"n":%d,"_attachments":{"a":{"content_type":"x/y","data":%q}}}`, i, attachment)
			}
			c.ok("PUT", fmt.Sprintf("/db/%03d", i), body)
		}
		if kill {
			p.kill()
		} else {
			p.stop(syscall.SIGTERM)
		}
		// it is large and contains nothing
		if err := os.RemoveAll(filepath.Join(whole, "data", "store", "ballast")); err != nil {
			t.Fatal(err)
		}
		outcomes := map[string]int{}
		for range rounds {
			dir := t.TempDir()
			err := os.CopyFS(dir, os.DirFS(whole))
			if err != nil {
				t.Fatal(err)
			}
			what, err := damageOne(rng, filepath.Join(dir, "data", "store"))
			if err != nil {
				t.Fatal(err)
			}
			outcome, err := startDamaged(t, dir, string(text), strings.Contains(what, ".sst"))
			if err != nil {
				t.Errorf("killed %v, %s: %v", kill, what, err)
			}
			outcomes[outcome]++
		}
		t.Logf("killed %v: %v", kill, outcomes)
	}
}

// damageOne changes one file in a directory, and returns how.
func damageOne(rng *rand.Rand, dir string) (what string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, entries[rng.IntN(len(entries))].Name())
	b, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	kind := []string{"flip", "cut", "zero", "garbage", "delete"}[rng.IntN(5)]
	if len(b) == 0 {
		kind = "delete"
	}
	at := rng.IntN(max(1, len(b)))
	switch kind {
	case "delete":
		return "delete " + filepath.Base(file), os.Remove(file)
	case "flip":
		b[at] ^= 1 << rng.IntN(8)
	case "cut":
		b = b[:at]
	case "zero":
		at &^= 4095
		clear(b[at:min(len(b), at+4096)])
	case "garbage":
		for i := at; i < min(len(b), at+4096); i++ {
			b[i] = byte(rng.Uint32())
		}
	}
	return fmt.Sprintf("%s %s at %d", kind, filepath.Base(file), at), os.WriteFile(file, b, 0o600)
}

// startDamaged starts a node and reads everything. Requests may fail only if a table is damaged.
func startDamaged(t *testing.T, dir, attachment string, table bool) (outcome string, err error) {
	p := launch(t, dir, append([]string{"-data", dir + "/data"}, freePorts...)...)
	defer p.kill()
	line, err := p.stdout.next(startTimeout)
	if err != nil {
		if status := p.wait(startTimeout); status != 1 || !strings.Contains(p.stderr.whole(), "is damaged: ") {
			return "", fmt.Errorf("exit status %d: %s", status, p.stderr)
		}
		return "refused", nil
	}
	p.parseReady(line)
	c, told := p.client(), 0
	get := func(path string, right func(body string) bool) error {
		r, err := c.try("GET", path, "")
		switch {
		case err != nil:
			return fmt.Errorf("GET %s: %w", path, err)
		case r.status/100 == 5 && table:
			told++
		case r.status != 200 || !right(string(r.body)):
			return fmt.Errorf("GET %s: %d %.200s", path, r.status, r.body)
		}
		return nil
	}
	for i := range faultDocs {
		err := get(fmt.Sprintf("/db/%03d", i), func(body string) bool {
			return strings.Contains(body, fmt.Sprintf(`"n":%d`, i))
		})
		if err == nil && i%5 == 0 {
			err = get(fmt.Sprintf("/db/%03d/a", i), func(body string) bool { return body == attachment })
		}
		if err != nil {
			return "lost", err
		}
	}
	err = get("/db/_all_docs", func(body string) bool {
		return strings.Count(body, `"id":`) == faultDocs || table && strings.Contains(body, `"error"`)
	})
	switch {
	case err != nil:
		return "lost", err
	case told > 0:
		return "told", nil
	}
	return "whole", nil
}
