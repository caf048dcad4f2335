package actors_test

import (
	"fmt"
	"testing"

	"github.com/divandb/divan/actors"
)

// BenchmarkEnsure_Build measures a first index build, from the request to the end of the job, in documents per second.
func BenchmarkEnsure_Build(b *testing.B) {
	const documents = 50_000
	for _, shards := range []int{1, 2, 4} {
		b.Run(fmt.Sprint(shards, "shards"), func(b *testing.B) {
			store := openLayer(b)
			s := startOn(b, store, "n1")
			db := create(b, store, "cities", shards)
			putMany(b, db, documents)
			b.ResetTimer()
			for i := range b.N {
				// A different signature each time makes a different index.
				name := fmt.Sprint("by", i)
				put(
					b,
					db,
					fmt.Sprintf(
						`{"_id":"_design/%s","views":{"country":{"map":"function (doc) { if (doc.country) emit(doc.country, %d); }"}}}`,
						name, i),
				)
				design, err := db.Design(b.Context(), name)
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Ensure(b.Context(), actors.Of(db), design); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(documents*b.N)/b.Elapsed().Seconds(), "docs/s")
		})
	}
}

// BenchmarkEnsure_WriteThenRead measures writing one document and bringing the index up to date.
func BenchmarkEnsure_WriteThenRead(b *testing.B) {
	store := openLayer(b)
	s := startOn(b, store, "n1")
	db := create(b, store, "cities", 1)
	put(b, db, byCountry)
	design, err := db.Design(b.Context(), "by")
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		put(b, db, fmt.Sprintf(`{"_id":"doc-%d","country":"no"}`, n))
		n++
		if err := s.Ensure(b.Context(), actors.Of(db), design); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "roundtrips/s")
}

// BenchmarkListen_Wake measures the time from a commit to the wake-up of the last of 1,000 idle listeners.
func BenchmarkListen_Wake(b *testing.B) {
	store := openLayer(b)
	s := startOn(b, store, "n1")
	db := create(b, store, "cities", 1)
	shards := shardsOf(b, db)
	var listeners []<-chan struct{}
	for range 1000 {
		ch, cancel := s.Listen(actors.Of(db), shards...)
		defer cancel()
		listeners = append(listeners, ch)
	}
	n := 0
	for b.Loop() {
		b.StopTimer()
		put(b, db, fmt.Sprintf(`{"_id":"doc-%d"}`, n))
		n++
		b.StartTimer()
		for _, ch := range listeners {
			<-ch
		}
	}
}
