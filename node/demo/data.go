package demo

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// doc is a document, in the order in which its members are written.
type doc any

type customer struct {
	ID      string `json:"_id"`
	Type    string `json:"type"`
	Name    string `json:"name"`
	City    string `json:"city"`
	Country string `json:"country"`
	Since   string `json:"since"`
}

type item struct {
	Article  string  `json:"article"`
	Quantity int     `json:"quantity"`
	Price    float64 `json:"price"`
}

type order struct {
	ID       string  `json:"_id"`
	Rev      string  `json:"_rev,omitempty"`
	Type     string  `json:"type"`
	At       string  `json:"at"`
	Customer string  `json:"customer"`
	Country  string  `json:"country"`
	Status   string  `json:"status"`
	Items    []item  `json:"items"`
	Total    float64 `json:"total"`
}

type reading struct {
	ID          string  `json:"_id"`
	At          string  `json:"at"`
	Temperature float64 `json:"temperature"`
	Humidity    int     `json:"humidity"`
	Battery     float64 `json:"battery"`
}

var (
	firstNames = []string{"Anna", "Björn", "Chloé", "Dmitri", "Elif", "Farid", "Grace", "Hiro", "Inés", "Jakub",
		"Kemi", "Liu", "Mateo", "Noor", "Olga", "Priya", "Quentin", "Rosa", "Søren", "Tariq", "Ulla", "Vikram",
		"Wanjiru", "Ximena", "Yara", "Zoltán"}
	lastNames = []string{"Andersen", "Bianchi", "Chen", "Dubois", "Eze", "Fischer", "García", "Haddad", "Ivanova",
		"Jansen", "Kowalski", "Laine", "Müller", "Nakamura", "O'Brien", "Petrov", "Quist", "Rossi", "Sato", "Tanaka",
		"Usman", "Varga", "Wójcik", "Yılmaz", "Zhang"}
	places = []struct{ city, country string }{
		{"Oslo", "NO"}, {"Bergen", "NO"}, {"København", "DK"}, {"Malmö", "SE"}, {"Berlin", "DE"}, {"München", "DE"},
		{"Köln", "DE"}, {"Paris", "FR"}, {"Lyon", "FR"}, {"Madrid", "ES"}, {"Sevilla", "ES"}, {"Roma", "IT"},
		{"Torino", "IT"}, {"London", "GB"}, {"Leeds", "GB"}, {"Kraków", "PL"}, {"Łódź", "PL"}, {"İstanbul", "TR"},
		{"Lagos", "NG"}, {"Nairobi", "KE"}, {"Pune", "IN"}, {"Osaka", "JP"}, {"Lima", "PE"}, {"Boston", "US"},
		{"Portland", "US"},
	}
	articles = []struct {
		name  string
		price float64
	}{
		{"divan", 899}, {"armchair", 349}, {"footstool", 79.5}, {"cushion", 19.9}, {"blanket", 39}, {"floor lamp", 129},
		{"side table", 99}, {"bookcase", 219}, {"rug", 259}, {"curtain", 49.5}, {"shelf", 45}, {"mirror", 75},
	}
	statuses = []string{"new", "paid", "packed", "shipped", "delivered"}
	rooms    = []string{"attic", "bedroom", "cellar", "garage", "hall", "kitchen", "office", "porch"}
)

// generator makes documents. The same seed makes the same ones, but for their times, which end at now.
type generator struct {
	random    *rand.Rand
	customers int
	now       time.Time
}

func newGenerator(seed uint64, customers int, now time.Time) *generator {
	return &generator{rand.New(rand.NewPCG(seed, 0)), customers, now.UTC().Truncate(time.Second)}
}

// pick returns one of the values. The first ones are more likely.
func pick[T any](r *rand.Rand, of []T) T { return of[int(float64(len(of))*r.Float64()*r.Float64())] }

// customer returns the i-th customer.
func (g *generator) customer(i int) customer {
	place := pick(g.random, places)
	return customer{
		ID: customerID(i), Type: "customer",
		Name: firstNames[g.random.IntN(len(firstNames))] + " " + lastNames[g.random.IntN(len(lastNames))],
		City: place.city, Country: place.country,
		Since: g.now.AddDate(0, 0, -g.random.IntN(2000)).Format(time.DateOnly),
	}
}

func customerID(i int) string { return fmt.Sprintf("customer-%05d", i) }

// order returns the i-th order, of the time that passed since it was made, of one of the customers.
func (g *generator) order(i int, of []customer, ago time.Duration) order {
	from := pick(g.random, of)
	o := order{
		ID: fmt.Sprintf("order-%07d", i), Type: "order", At: g.now.Add(-ago).Format(time.RFC3339), Customer: from.ID,
		Country: from.Country, Status: statuses[len(statuses)-1],
	}
	if days := int(ago.Hours() / 24); days < len(statuses) {
		o.Status = statuses[days]
	}
	cents := 0
	for range 1 + g.random.IntN(4) {
		article := pick(g.random, articles)
		quantity := 1 + g.random.IntN(3)
		o.Items = append(o.Items, item{article.name, quantity, article.price})
		cents += quantity * int(article.price*100+0.5)
	}
	o.Total = float64(cents) / 100
	return o
}

// reading returns a measurement in a room at a time. The room is the partition.
func (g *generator) reading(room int, at time.Time) reading {
	at = at.UTC()
	return reading{
		ID: rooms[room] + ":" + at.Format("20060102T150405.000"), At: at.Format(time.RFC3339),
		Temperature: float64(int(10*(16+float64(room)/2+4*g.random.Float64()))) / 10,
		Humidity:    35 + g.random.IntN(30), Battery: float64(g.random.IntN(100)) / 100,
	}
}
