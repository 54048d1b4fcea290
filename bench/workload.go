package main

import (
	"encoding/json"
	"fmt"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/store"
)

// Customer is what is stored: 8 fields, about 250 bytes of JSON. The fields
// are in the order of their JSON names, so that encoding/json writes the same
// bytes as the store.
type Customer struct {
	Active  bool    `json:"active"`
	Balance float64 `json:"balance"`
	City    string  `json:"city"`
	Email   string  `json:"email"`
	ID      string  `json:"id" onto:"key"`
	Name    string  `json:"name"`
	Note    string  `json:"note"`
	Tier    string  `json:"tier"`
}

// TaggedCustomer is a Customer with indexed and searchable fields.
type TaggedCustomer struct {
	Active  bool    `json:"active"`
	Balance float64 `json:"balance" onto:"index"`
	City    string  `json:"city" onto:"index"`
	Email   string  `json:"email"`
	ID      string  `json:"id" onto:"key"`
	Name    string  `json:"name" onto:"search"`
	Note    string  `json:"note" onto:"search"`
	Tier    string  `json:"tier" onto:"index"`
}

// workload is a sequence of customers of one kind.
type workload struct {
	name   string
	key    func(i int) string
	tagged bool
}

// plain has no index or search fields, and keys that come in ascending order,
// as numbers from a sequence would.
func plain() workload {
	return workload{name: "plain", key: func(i int) string { return fmt.Sprintf("cust-%08d", i) }}
}

// tagged has index and search fields.
func tagged() workload { return workload{name: "tagged", key: plain().key, tagged: true} }

// scattered has keys that come in no order, as random identifiers would.
func scattered() workload {
	return workload{name: "scattered", key: func(i int) string {
		x := uint64(i+1) * 0x9e3779b97f4a7c15
		x = (x ^ x>>29) * 0xbf58476d1ce4e5b9
		return fmt.Sprintf("%013x", (x^x>>32)>>12)
	}}
}

// districts is how many cities with their districts there are, all equally
// frequent.
const districts = 1000

// city is a city with one of its districts.
func city(district int) string {
	cities := [...]string{"Lisbon", "Nairobi", "Osaka", "Quito", "Bergen", "Tbilisi", "Hobart"}
	return fmt.Sprintf("%s %03d", cities[district%len(cities)], district)
}

// tier is Gold for one in ten, Silver for three, Bronze for the others. Each
// version moves on by one.
func tier(i, version int) string {
	switch (i + version) % 10 {
	case 0:
		return "Gold"
	case 1, 2, 3:
		return "Silver"
	}
	return "Bronze"
}

// customer makes the i-th customer as it is in a version.
func (w workload) customer(i, version int) Customer {
	key := w.key(i)
	return Customer{
		Active:  i%5 != 0,
		Balance: float64(i*37%100_000)/100 + float64(version),
		City:    city(i % districts),
		Email:   "customer." + key + "@example.org",
		ID:      key,
		Name:    fmt.Sprintf("Ada Lovelace-%05d", i%77_777),
		Note:    fmt.Sprintf("prefers delivery before noon, last call in week %02d, revision %05d", i%52, version),
		Tier:    tier(i, version),
	}
}

// thing makes the i-th customer as a value to ensure.
func (w workload) thing(i, version int) any {
	if w.tagged {
		return TaggedCustomer(w.customer(i, version))
	}
	return w.customer(i, version)
}

// things makes n values to ensure as one slice.
func (w workload) things(from, n, version int) any {
	if w.tagged {
		return series(n, func(i int) TaggedCustomer { return TaggedCustomer(w.customer(from+i, version)) })
	}
	return series(n, func(i int) Customer { return w.customer(from+i, version) })
}

// row makes the i-th customer as a row of the control, with its JSON ready.
func (w workload) row(i, version int) rawRow {
	c := w.customer(i, version)
	return rawRow{c.ID, jsonOf(&c)}
}

func (w workload) rows(from, n, version int) []rawRow {
	return series(n, func(i int) rawRow { return w.row(from+i, version) })
}

// series makes n values.
func series[T any](n int, make1 func(i int) T) []T {
	list := make([]T, n)
	for i := range list {
		list[i] = make1(i)
	}
	return list
}

// jsonOf is the JSON that both sides store.
func jsonOf(c *Customer) string {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // strings and finite numbers
	}
	return string(text)
}

// openStore opens a store that lasts as long as the benchmark.
func (e *env) openStore(path string) *store.Store {
	s := e.store(path)
	e.cleanup(func() { s.Close() })
	return s
}

func (e *env) store(path string) *store.Store {
	db, err := sqlite.Open(e.ctx, path, nil)
	e.must(err)
	s, err := store.Open(e.ctx, db, onto.TypeOf[Customer](), onto.TypeOf[TaggedCustomer]())
	e.must(err)
	return s
}

// entities is how many rows the stores of most benchmarks start with.
func (e *env) entities() int { return e.pick(100_000, 20_000) }

// keysOf is how many keys a history with so many versions of each has.
func (e *env) keysOf(versions int) int { return e.pick(1_000_000, 100_000) / versions }

// commitSize is how many rows a fixture's commits have.
const commitSize = 1000

// commitsPerVersion is how many commits a fixture has for a version of all keys.
func commitsPerVersion(keys int) int { return (keys + commitSize - 1) / commitSize }

// history is a fixture: a store with so many keys and versions of each. Each
// commit changes up to commitSize keys; a version of all keys is written
// before the next.
func (e *env) history(w workload, keys, versions int) string {
	return e.fixture(fmt.Sprintf("store-%s-%dx%d.db", w.name, keys, versions), func(path string) {
		s := e.store(path)
		for version := range versions {
			for from := 0; from < keys; from += commitSize {
				_, err := s.Commit(e.ctx, onto.Draft{}.Ensure(w.things(from, min(commitSize, keys-from), version)))
				e.must(err)
			}
		}
		if !w.tagged {
			e.checkBytes(s, w.row(keys-1, versions-1))
		}
		e.must(s.Close())
	})
}

// checkBytes makes sure that the store keeps the bytes that controls keep.
func (e *env) checkBytes(s *store.Store, want rawRow) {
	got, err := s.Now().Get(e.ctx, onto.EntityID(typeName, want.key))
	e.must(err)
	e.assert(string(got.Fields) == want.fields, "the store keeps %s, the control %s", got.Fields, want.fields)
}
