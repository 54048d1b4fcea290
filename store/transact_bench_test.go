package store_test

import (
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/store"
)

// benched runs a benchmark over a store with one counter, in memory and on disk.
func benched(b *testing.B, run func(b *testing.B, s *store.Store)) {
	open := map[string]func(b *testing.B) (*store.Store, error){
		"memory": func(b *testing.B) (*store.Store, error) {
			return store.Open(b.Context(), memory.New(nil).Open(), onto.TypeOf[Counter]())
		},
		"sqlite": func(b *testing.B) (*store.Store, error) {
			db, err := sqlite.Open(b.Context(), b.TempDir()+"/store.db", nil)
			if err != nil {
				return nil, err
			}
			return store.Open(b.Context(), db, onto.TypeOf[Counter]())
		},
	}
	for name, open := range open {
		b.Run(name, func(b *testing.B) {
			s, err := open(b)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			if _, err := s.Commit(b.Context(), onto.Draft{}.Ensure(Counter{ID: "c"})); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			run(b, s)
		})
	}
}

func BenchmarkGet(b *testing.B) {
	benched(b, func(b *testing.B, s *store.Store) {
		for b.Loop() {
			if _, err := store.Get[Counter](b.Context(), s.Now(), "c"); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkFind(b *testing.B) {
	benched(b, func(b *testing.B, s *store.Store) {
		for b.Loop() {
			for _, err := range store.Find[Counter](s.Now()).All(b.Context()) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

func BenchmarkUpdate(b *testing.B) {
	benched(b, func(b *testing.B, s *store.Store) {
		for b.Loop() {
			_, err := store.Update(b.Context(), s, onto.Draft{}, store.Key{"c"}, func(c *Counter) error { c.N++; return nil })
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

// A transaction that reads one thing and writes it does the work of an update.
func BenchmarkTransact(b *testing.B) {
	benched(b, func(b *testing.B, s *store.Store) {
		for b.Loop() {
			_, err := store.Transact(b.Context(), s, onto.Draft{}, func(tx *store.Tx) error {
				c, err := store.Get[Counter](b.Context(), tx, "c")
				if err != nil {
					return err
				}
				c.N++
				return tx.Ensure(c)
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkPin(b *testing.B) {
	benched(b, func(b *testing.B, s *store.Store) {
		for b.Loop() {
			if _, err := s.Pin(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
