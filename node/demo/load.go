package demo

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// The databases of the demo.
const (
	shop    = "shop"
	sensors = "sensors"
)

const (
	batch   = 500 // documents in a request
	loaders = 4   // requests at once
	// sensorShards is the number of changes shards of the sensors, each of which a worker can follow by itself.
	sensorShards = 4
	// withConflicts is how many customers have two revisions, as after two phones have changed them offline.
	withConflicts = 20
	// yearOfOrders is the time over which the orders are spread.
	yearOfOrders = 365 * 24 * time.Hour
	// betweenReadings is the time between two measurements in a room.
	betweenReadings = 5 * time.Minute
)

// salesDesign has views, and relations with columns for SQL.
var salesDesign = map[string]any{
	"views": map[string]any{
		"by_month": map[string]any{
			"map":    "function (doc) { if (doc.type === 'order') emit(doc.at.slice(0, 7), doc.total) }",
			"reduce": "_stats",
		},
		"by_country": map[string]any{
			"map":    "function (doc) { if (doc.type === 'order') emit([doc.country, doc.status], doc.total) }",
			"reduce": "_sum",
		},
		"by_customer": map[string]any{
			"map": "function (doc) { if (doc.type === 'order') emit(doc.customer, null) }",
		},
	},
	"sql": map[string]any{
		"orders": map[string]any{
			"where": map[string]any{"type": "order"},
			"columns": map[string]any{"at": "timestamptz", "customer": "text", "country": "text", "status": "text",
				"total": "numeric(10,2)"},
			"comment": "what was sold",
		},
		"customers": map[string]any{
			"where":   map[string]any{"type": "customer"},
			"columns": map[string]any{"name": "text", "city": "text", "country": "text", "since": "date"},
			"comment": "who bought it",
		},
	},
}

var sensorsDesign = map[string]any{
	"views": map[string]any{
		"temperature": map[string]any{
			"map":    "function (doc) { emit(doc.at.slice(0, 10), doc.temperature) }",
			"reduce": "_stats",
		},
	},
	"options": map[string]any{"partitioned": false},
}

// sizes are the numbers of documents of each kind.
type sizes struct{ customers, orders, readings int }

// divide divides a number of documents: of a hundred, eighty are orders and sixteen readings.
func divide(documents int) sizes {
	s := sizes{customers: max(withConflicts, documents/25), readings: documents * 4 / 25}
	s.orders = max(1, documents-s.customers-s.readings)
	return s
}

// loading is a document in the database shop while a demo fills the databases.
const loading = "/" + shop + "/_local/loading"

// create creates the databases. It returns false if they exist and are complete, as in a directory that was used
// before. If that demo was ended while it filled them, they are removed and created anew.
func create(ctx context.Context, c *client) (bool, error) {
	err := c.send(ctx, http.MethodPut, "/"+shop, nil, nil)
	if isStatus(err, http.StatusPreconditionFailed) {
		if incomplete, err := areIncomplete(ctx, c); !incomplete || err != nil {
			return false, err
		}
		for _, database := range []string{sensors, shop} { // shop last, as it has the document that says so
			err := c.send(ctx, http.MethodDelete, "/"+database, nil, nil)
			if err != nil && !isStatus(err, http.StatusNotFound) {
				return false, err
			}
		}
		err = c.send(ctx, http.MethodPut, "/"+shop, nil, nil)
	}
	if err != nil {
		return false, err
	}
	if err := c.send(ctx, http.MethodPut, loading, map[string]any{}, nil); err != nil {
		return false, err
	}
	path := fmt.Sprintf("/%s?partitioned=true&changes_shards=%d", sensors, sensorShards)
	return true, c.send(ctx, http.MethodPut, path, nil, nil)
}

// areIncomplete reports whether a demo was ended while it filled the databases, or after it had created the first one.
func areIncomplete(ctx context.Context, c *client) (bool, error) {
	err := c.send(ctx, http.MethodGet, loading, nil, nil)
	if err == nil || !isStatus(err, http.StatusNotFound) {
		return err == nil, err
	}
	var has struct {
		Docs    int `json:"doc_count"`
		Deleted int `json:"doc_del_count"`
	}
	if err := c.send(ctx, http.MethodGet, "/"+shop, nil, &has); err != nil || has.Docs+has.Deleted > 0 {
		return false, err
	}
	err = c.send(ctx, http.MethodGet, "/"+sensors, nil, nil)
	if isStatus(err, http.StatusNotFound) {
		return true, nil
	}
	return false, err
}

// load creates the databases and fills them. It returns false if they are there already.
func load(ctx context.Context, c *client, g *generator, s sizes, progress func(done, of int)) (bool, error) {
	if created, err := create(ctx, c); !created || err != nil {
		return false, err
	}
	of := s.customers + s.orders + s.readings
	var done atomic.Int64
	group, all := errgroup.WithContext(ctx)
	group.SetLimit(loaders)
	write := func(database string, docs []doc) {
		group.Go(func() error {
			if err := c.bulk(all, database, docs); err != nil {
				return err
			}
			progress(int(done.Add(int64(len(docs)))), of)
			return nil
		})
	}
	people := make([]customer, s.customers)
	inBatches(s.customers, func(i int) doc { people[i] = g.customer(i); return people[i] },
		func(docs []doc) { write(shop, docs) })
	inBatches(s.orders, func(i int) doc {
		ago := time.Duration(float64(yearOfOrders) * float64(s.orders-i) / float64(s.orders))
		return g.order(i, people, ago)
	}, func(docs []doc) { write(shop, docs) })
	inBatches(s.readings, func(i int) doc {
		rounds := (s.readings + len(rooms) - 1) / len(rooms)
		return g.reading(i%len(rooms), g.now.Add(-time.Duration(rounds-i/len(rooms))*betweenReadings))
	}, func(docs []doc) { write(sensors, docs) })
	if err := group.Wait(); err != nil {
		return false, err
	}
	if err := conflicts(ctx, c, people); err != nil {
		return false, err
	}
	return true, c.remove(ctx, loading)
}

// inBatches makes n documents and hands them over in batches.
func inBatches(n int, make func(i int) doc, write func([]doc)) {
	var docs []doc
	for i := range n {
		docs = append(docs, make(i))
		if len(docs) == batch || i == n-1 {
			write(docs)
			docs = nil
		}
	}
}

// conflicts gives some customers a second revision beside the first, as replication does from a phone that was offline.
func conflicts(ctx context.Context, c *client, of []customer) error {
	var docs []doc
	for i := range min(withConflicts, len(of)) {
		there := of[i]
		docs = append(docs, map[string]any{
			"_id": there.ID, "_rev": fmt.Sprintf("1-%032x", i+1), "type": there.Type, "name": there.Name,
			"city": "moved, said another phone", "country": there.Country, "since": there.Since,
		})
	}
	body := map[string]any{"docs": docs, "new_edits": false}
	return c.send(ctx, http.MethodPost, "/"+shop+"/_bulk_docs", body, nil)
}

// index writes the design documents and waits until their views are built.
func index(ctx context.Context, c *client) error {
	for path, design := range map[string]any{
		"/" + shop + "/_design/sales": salesDesign, "/" + sensors + "/_design/by": sensorsDesign,
	} {
		err := c.send(ctx, http.MethodPut, path, design, nil)
		if err != nil && !isStatus(err, http.StatusConflict) { // it exists
			return err
		}
	}
	for _, view := range []string{
		"/" + shop + "/_design/sales/_view/by_month", "/" + sensors + "/_design/by/_view/temperature",
	} {
		if err := c.send(ctx, http.MethodGet, view, nil, nil); err != nil {
			return err
		}
	}
	return nil
}
