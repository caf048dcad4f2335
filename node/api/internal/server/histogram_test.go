package server

import (
	"encoding/json"
	"math"
	"testing"
	"time"
)

// A histogram describes the values of the last ten seconds within the width of its bins.
func TestHistogram(t *testing.T) {
	var h histogram
	now := time.Unix(1000, 0)
	read := func(at time.Time) (v struct {
		N                     int64
		Min, Max, Median      float64
		ArithmeticMean        float64 `json:"arithmetic_mean"`
		GeometricMean         float64 `json:"geometric_mean"`
		HarmonicMean          float64 `json:"harmonic_mean"`
		StandardDeviation     float64 `json:"standard_deviation"`
		Variance, Skewness    float64
		Kurtosis              float64
		Percentile, Histogram [][2]float64
	}) {
		t.Helper()
		text := h.append(nil, at)
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return v
	}
	if got := read(now); got.N != 0 || len(got.Percentile) != 6 {
		t.Errorf("empty: %+v", got)
	}
	h.add(now.Add(-time.Second), 1e6)
	for i := range 1000 {
		h.add(now.Add(time.Duration(i)*5*time.Millisecond), float64(i+1))
	}
	got := read(now.Add(9 * time.Second))
	near := func(name string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > want/15 {
			t.Errorf("%s: %v, want about %v", name, got, want)
		}
	}
	if got.N != 1000 {
		t.Errorf("%d values", got.N)
	}
	near("min", got.Min, 1)
	near("max", got.Max, 1000)
	near("median", got.Median, 500)
	near("arithmetic_mean", got.ArithmeticMean, 500.5)
	near("geometric_mean", got.GeometricMean, 369.5)
	near("harmonic_mean", got.HarmonicMean, 133.6)
	near("standard_deviation", got.StandardDeviation, 288.8)
	near("variance", got.Variance, 83416)
	for i, want := range [][2]float64{{50, 500}, {75, 750}, {90, 900}, {95, 950}, {99, 990}, {999, 999}} {
		if got.Percentile[i][0] != want[0] {
			t.Errorf("percentile %v, want %v", got.Percentile[i][0], want[0])
		}
		near("percentile", got.Percentile[i][1], want[1])
	}
	sum := 0.0
	for _, b := range got.Histogram {
		sum += b[1]
	}
	if sum != 1000 {
		t.Errorf("the bins have %v values", sum)
	}
	if got := read(now.Add(15 * time.Second)); got.N != 0 {
		t.Errorf("%d values after the time", got.N)
	}
}
