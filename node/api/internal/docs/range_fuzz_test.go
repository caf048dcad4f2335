package docs

import "testing"

// FuzzParseRanges checks that all ranges are inside the attachment.
func FuzzParseRanges(f *testing.F) {
	for _, header := range []string{"bytes=0-", "bytes=1-2,4-", "bytes=-3", "bytes=9-1", "bytes=5-5, 7-", "bytes=-0",
		"bytes=18446744073709551615-", "items=1-2", "bytes=", ""} {
		f.Add(header, int64(6))
		f.Add(header, int64(0))
	}
	f.Fuzz(func(t *testing.T, header string, length int64) {
		length &= 1<<40 - 1
		ranges, err := parseRanges(header, length)
		if err != nil {
			return
		}
		for _, r := range ranges {
			if r.from < 0 || r.to >= length || r.from > r.to {
				t.Errorf("%q of %d bytes asks for %d to %d", header, length, r.from, r.to)
			}
		}
	})
}
