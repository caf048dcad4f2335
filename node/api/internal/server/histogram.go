package server

import (
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/divandb/divan/node/api/internal/encode"
)

// histogram shows the distribution of the values of the last seconds, as CouchDB's statistics do. Values are counted in
// bins, eight for each power of two, so percentiles and the like are off by a sixteenth at most. The zero value is
// ready to use.
type histogram struct {
	mu      sync.Mutex
	seconds [statSeconds]secondOfValues // by second modulo their number
}

// statSeconds is how long values count, the default of CouchDB's stats/interval.
const statSeconds = 10

type secondOfValues struct {
	unix int64 // the second that the values are of
	bins map[int]int64
}

// leastValue is counted for all smaller values.
const leastValue = 1.0 / 1024

func binOf(v float64) int {
	fraction, exponent := math.Frexp(max(v, leastValue)) // fraction is in [1/2, 1)
	return exponent*8 + int((fraction-0.5)*16)
}

// lowest returns the lower bound of a bin.
func lowest(bin int) float64 {
	exponent := bin >> 3
	return math.Ldexp(0.5+float64(bin-exponent<<3)/16, exponent)
}

func (h *histogram) add(now time.Time, v float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := &h.seconds[now.Unix()%statSeconds]
	if s.unix != now.Unix() {
		s.unix, s.bins = now.Unix(), map[int]int64{}
	}
	s.bins[binOf(v)]++
}

// valueBin is a bin of recent values, which are all taken to be in its middle.
type valueBin struct{ low, middle, n float64 }

// recent returns the bins that have values of the last seconds, in order.
func (h *histogram) recent(now time.Time) []valueBin {
	sums := map[int]int64{}
	h.mu.Lock()
	for i := range h.seconds {
		if s := &h.seconds[i]; now.Unix()-s.unix < statSeconds {
			for b, n := range s.bins {
				sums[b] += n
			}
		}
	}
	h.mu.Unlock()
	list := make([]valueBin, 0, len(sums))
	for b, n := range sums {
		list = append(list, valueBin{lowest(b), (lowest(b) + lowest(b+1)) / 2, float64(n)})
	}
	slices.SortFunc(list, func(a, b valueBin) int {
		if a.low < b.low {
			return -1
		}
		return 1
	})
	return list
}

// append appends the members that CouchDB shows of a histogram.
func (h *histogram) append(dst []byte, now time.Time) []byte {
	bins := h.recent(now)
	var n, sum, logs, inverse float64
	for _, b := range bins {
		n += b.n
		sum += b.n * b.middle
		logs += b.n * math.Log(b.middle)
		inverse += b.n / b.middle
	}
	dst = encode.IntMember(append(dst, '{'), "n", int64(n))
	if n == 0 {
		return append(dst, `,"min":0,"max":0,"arithmetic_mean":0,"geometric_mean":0,"harmonic_mean":0,"median":0,`+
			`"variance":0,"standard_deviation":0,"skewness":0,"kurtosis":0,"percentile":[[50,0],[75,0],[90,0],[95,0],`+
			`[99,0],[999,0]],"histogram":[[0,0]]}`...)
	}
	mean := sum / n
	var second, third, fourth float64
	for _, b := range bins {
		d := b.middle - mean
		second += b.n * d * d
		third += b.n * d * d * d
		fourth += b.n * d * d * d * d
	}
	variance := second / max(n-1, 1)
	deviation := math.Sqrt(variance)
	skewness, kurtosis := 0.0, 0.0
	if deviation > 0 {
		skewness, kurtosis = third/n/(variance*deviation), fourth/n/(variance*variance)-3
	}
	// below returns the value that a part of the values do not exceed.
	below := func(part float64) float64 {
		passed := 0.0
		for _, b := range bins {
			if passed += b.n; passed >= part*n {
				return b.middle
			}
		}
		return bins[len(bins)-1].middle
	}
	for _, m := range []struct {
		name string
		v    float64
	}{
		{"min", bins[0].middle}, {"max", bins[len(bins)-1].middle}, {"arithmetic_mean", mean},
		{"geometric_mean", math.Exp(logs / n)}, {"harmonic_mean", n / inverse}, {"median", below(0.5)},
		{"variance", variance}, {"standard_deviation", deviation}, {"skewness", skewness}, {"kurtosis", kurtosis},
	} {
		dst = appendFloat(encode.Member(dst, m.name), m.v)
	}
	dst = append(encode.Member(dst, "percentile"), '[')
	for i, p := range []int{50, 75, 90, 95, 99, 999} { // CouchDB's 999 means 99.9
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(append(dst, '['), int64(p), 10)
		part := float64(p) / 100
		if p > 100 {
			part = float64(p) / 1000
		}
		dst = append(appendFloat(append(dst, ','), below(part)), ']')
	}
	dst = append(encode.Member(append(dst, ']'), "histogram"), '[')
	for i, b := range bins {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendFloat(append(dst, '['), b.low), ',')
		dst = append(strconv.AppendInt(dst, int64(b.n), 10), ']')
	}
	return append(dst, "]}"...)
}

func appendFloat(dst []byte, v float64) []byte { return strconv.AppendFloat(dst, v, 'f', -1, 64) }
