package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/scripts/fixtures"
)

// runNodes gives the same work to one node and to three nodes over the store of the first, with the same number of
// clients, spread over the nodes. All share this machine's processors. Both clusters run all the time and are measured
// in turns. The ratios are of time, and of the processor time of all nodes.
func runNodes(ctx context.Context, e *environment, t *table) (err error) {
	const rounds = 5
	list, err := cities(min(e.documents, 30_000))
	if err != nil {
		return err
	}
	var sides [2]manyNodes
	defer func() {
		for _, nodes := range sides {
			for _, n := range slices.Backward(nodes) {
				err = errors.Join(err, n.stop())
			}
		}
	}()
	for i, count := range []int{1, 3} {
		if sides[i], err = e.cluster(ctx, count); err != nil {
			return err
		}
		if err := sides[i].load(ctx, list); err != nil {
			return err
		}
	}
	work := workOfNodes(list)
	found := make([][2][]measured, len(work))
	var took [2][]float64 // seconds of a round
	for round := range rounds {
		var sum [2]float64
		for k, w := range work {
			for turn := range 2 {
				side := (turn + round) % 2
				began, cpu := time.Now(), sides[side].cpu()
				if err := w.do(ctx, sides[side], round); err != nil {
					return fmt.Errorf("%s on %d nodes: %w", w.what, len(sides[side]), err)
				}
				d, used := time.Since(began), max(sides[side].cpu()-cpu, time.Millisecond)
				found[k][side] = append(found[k][side], measured{rate(w.requests, d), rate(w.requests, used)})
				sum[side] += d.Seconds()
			}
		}
		for side := range sum {
			took[side] = append(took[side], sum[side])
		}
	}
	for k, w := range work {
		one, three := found[k][0], found[k][1]
		ratios, costs := make([]float64, rounds), make([]float64, rounds)
		for i := range rounds {
			ratios[i], costs[i] = three[i].rate/one[i].rate, three[i].cpu/one[i].cpu
		}
		speed := func(m measured) float64 { return m.rate }
		t.row(w.what, "%.0f requests/s on one node, %.0f on three: %.2f of them, from %.2f to %.2f; %.2f of them for "+
			"the same CPU", medianOf(one, speed), medianOf(three, speed), median(ratios), slices.Min(ratios),
			slices.Max(ratios), median(costs))
	}
	ratios := make([]float64, rounds)
	for i := range rounds {
		ratios[i] = took[0][i] / took[1][i]
	}
	t.row("all of it", "%.1f s on one node, %.1f s on three, which do %.2f of the work in the same time, from %.2f to "+
		"%.2f", median(took[0]), median(took[1]), median(ratios), slices.Min(ratios), slices.Max(ratios))
	return nil
}

// manyNodes are the nodes of one cluster.
type manyNodes []*node

func (m manyNodes) cpu() (sum time.Duration) {
	for _, n := range m {
		sum += n.cpu()
	}
	return sum
}

// load writes cities, builds a view of them, and creates the database for writes.
func (m manyNodes) load(ctx context.Context, list []fixtures.City) error {
	if err := loadCities(ctx, m[0], "/cities", list); err != nil {
		return err
	}
	design := map[string]any{"views": map[string]any{"country": map[string]string{
		"map": "function (doc) { if (doc.country) emit(doc.country, doc.name) }", "reduce": "_count"}}}
	for _, db := range []string{"/cities", "/written"} {
		if db != "/cities" {
			if err := m[0].call(ctx, "PUT", db, nil, nil); err != nil {
				return err
			}
		}
		if err := m[0].call(ctx, "PUT", db+"/_design/by", design, nil); err != nil {
			return err
		}
		if err := m[0].call(ctx, "GET", db+"/_design/by/_view/country", nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// lean sends requests on connections that are spread over the nodes.
func (m manyNodes) lean(ctx context.Context, clients, requests int, request func(i int) []byte) error {
	var wg sync.WaitGroup
	errs := make([]error, len(m))
	var next atomic.Int64
	for k, n := range m {
		count := (clients - k + len(m) - 1) / len(m)
		wg.Go(func() {
			conns, closing, err := n.leanConns(ctx, count)
			if err != nil {
				errs[k] = err
				return
			}
			errs[k] = errors.Join(each(count, count, func(c int) error {
				for {
					i := int(next.Add(1)) - 1
					if i >= requests {
						return nil
					}
					if err := conns[c].do(request(i)); err != nil {
						return err
					}
				}
			}), closing())
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// workForNodes is one kind of work.
type workForNodes struct {
	what              string
	clients, requests int
	request           func(round, i int) []byte
	listeners         int // continuous feeds of the database that is written, spread over the nodes
}

func (w workForNodes) do(ctx context.Context, m manyNodes, round int) error {
	const feed = "/written/_changes?feed=continuous&since=now"
	listening, stop := context.WithCancel(ctx)
	var wg, connected sync.WaitGroup
	errs := make([]error, w.listeners+1)
	connected.Add(w.listeners)
	for i := range w.listeners {
		wg.Go(func() {
			errs[i] = m[i%len(m)].followTelling(listening, feed, connected.Done, func([]byte) {})
		})
	}
	connected.Wait()
	errs[w.listeners] = m.lean(ctx, w.clients, w.requests, func(i int) []byte { return w.request(round, i) })
	stop()
	wg.Wait()
	return errors.Join(errs...)
}

// workOfNodes is what applications do most.
func workOfNodes(list []fixtures.City) []workForNodes {
	city := func(round, i int) fixtures.City { return list[(round*4001+i)*7919%len(list)] }
	read := func(round, i int) []byte { return get("/cities/" + url.PathEscape(city(round, i).ID)) }
	view := func(round, i int) []byte {
		key := url.QueryEscape(`"` + city(round, i).Country + `"`)
		return get("/cities/_design/by/_view/country?reduce=false&limit=20&key=" + key)
	}
	count := func(round, i int) []byte {
		return get("/cities/_design/by/_view/country?key=" + url.QueryEscape(`"`+city(round, i).Country+`"`))
	}
	single := func(round, i int) []byte {
		doc := city(round, i)
		doc.ID = fmt.Sprintf("single-%d-%d", round, i)
		return put("/written/"+doc.ID, mustJSON(doc))
	}
	bulk := func(round, i int) []byte {
		docs := make([]fixtures.City, 100)
		for k := range docs {
			docs[k] = city(round, i*100+k)
			docs[k].ID = fmt.Sprintf("bulk-%d-%d-%d", round, i, k)
		}
		return post("/written/_bulk_docs", mustJSON(map[string]any{"docs": docs}))
	}
	changes := func(round, i int) []byte { return get("/cities/_changes?descending=true&limit=100") }
	fresh := func(round, i int) []byte {
		return get("/written/_design/by/_view/country?key=" + url.QueryEscape(`"`+city(round, i).Country+`"`))
	}
	return []workForNodes{
		{what: "documents read by id", clients: 24, requests: 12_000, request: read},
		{what: "views, 20 rows of a key", clients: 24, requests: 6000, request: view},
		{what: "views, a count of a key", clients: 24, requests: 6000, request: count},
		{what: "documents written one by one", clients: 24, requests: 4000, request: single},
		{what: "_bulk_docs of 100 documents", clients: 12, requests: 150, request: bulk},
		{what: "the latest 100 changes", clients: 24, requests: 2000, request: changes},
		{what: "a mixture: ten reads, four views, one view of a database that is written, four writes, one bulk, " +
			"with 12 feeds", clients: 24, requests: 4000, listeners: 12,
			request: func(round, i int) []byte {
				round += 1000 // other documents
				switch i % 20 {
				case 0:
					return bulk(round, i)
				case 1:
					return fresh(round, i)
				case 5, 10, 15, 18:
					return single(round, i)
				case 6, 11, 16, 19:
					return view(round, i)
				default:
					return read(round, i)
				}
			}},
	}
}
