package demo

import (
	"fmt"
	"io"
	"net"
	"strings"
)

// guide prints what to try.
func guide(w io.Writer, members []*member, temporary bool) {
	first := members[0]
	url, sql := first.url(), first.ready["sql"]
	host, port, _ := net.SplitHostPort(sql)
	psql := fmt.Sprintf("psql -h %s -p %s", host, port)
	text := `
The database shop has customers and orders, with views and with relations for SQL.
The database sensors has measurements, which come in all the time.

Open the console    ` + url + `/_dashboard/

Ask with SQL        ` + psql + ` -d shop
  SELECT id, at, customer, status, total FROM sales.orders ORDER BY at DESC LIMIT 5;
  SELECT c.name, sum(o.total) FROM sales.orders o JOIN sales.customers c ON c.id = o.customer
    GROUP BY 1 ORDER BY 2 DESC LIMIT 5;
  SELECT key AS month, count(*), sum(value) FROM sales.by_month GROUP BY key ORDER BY key;
  UPDATE docs SET doc = doc || '{"status": "paid"}' WHERE id = 'order-0000001' RETURNING rev;

Ask over HTTP       (CouchDB's API)
  curl '` + url + `/shop/order-0000001'
  curl '` + url + `/shop/_design/sales/_view/by_country?group_level=1'
  curl '` + url + `/shop/_find' -H 'Content-Type: application/json' \
    -d '{"selector": {"type": "customer", "city": "Oslo"}, "limit": 3}'
  curl '` + url + `/shop/customer-00001?conflicts=true'

Watch changes       as they come; each has a "seq", from which a program can go on later
  curl -N '` + url + `/shop/_changes?feed=continuous&since=now'
  curl '` + url + `/sensors/_changes/_meta'
  ` + psql + ` -d sensors -c "COPY (SELECT id, seq FROM changes_follow WHERE seq > 'now') TO STDOUT"

Sync a browser      open https://pouchdb.com, and in its console:
  db = new PouchDB('shop'); db.sync('` + url + `/shop', {live: true, retry: true, selector: {type: 'customer'}})
`
	if len(members) > 1 {
		text += "\nKill a node         and see in the console of another one what happens\n"
		for _, m := range members[1:] {
			text += fmt.Sprintf("  kill -9 %d    # %s, %s\n", m.process.Process.Pid, m.name, m.url())
		}
	}
	text += "\nSome documents are written all the time. Ctrl-C ends the demo"
	if temporary {
		text += " and removes its data"
	}
	fmt.Fprintln(w, strings.TrimRight(text, "\n")+".")
}
