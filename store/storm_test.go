package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// What was acknowledged before or while the store closes is there afterwards.
func TestClosingLosesNothing(t *testing.T) {
	for round := range 5 {
		path := filepath.Join(t.TempDir(), "store.db")
		s, err := tryOpen(t.Context(), path, onto.TypeOf[Product]())
		if err != nil {
			t.Fatal(err)
		}
		var acknowledged sync.Map
		enough := make(chan struct{}, 1000)
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				for i := 0; ; i++ {
					p := Product{fmt.Sprintf("p%d-%d", g, i), "t"}
					if _, err := s.Commit(context.Background(), onto.Draft{}.Ensure(p)); err != nil {
						wantError(t, err, onto.Closed)
						return
					}
					acknowledged.Store(p.SKU, true)
					select {
					case enough <- struct{}{}:
					default:
					}
					for _, err := range store.Find[Product](s.Now()).Limit(3).All(context.Background()) {
						if err != nil {
							wantError(t, err, onto.Closed)
							return
						}
					}
				}
			})
		}
		for range round * 7 { // close at another moment each time
			<-enough
		}
		if err := errors.Join(s.Close(), s.Close()); err != nil {
			t.Error(err)
		}
		wg.Wait()
		s = openAt(t, path)
		acknowledged.Range(func(key, _ any) bool {
			if _, err := s.Now().Get(t.Context(), onto.EntityID("Product", key.(string))); err != nil {
				t.Errorf("acknowledged and lost: %v", err)
			}
			return true
		})
	}
}

// A commit that reports to be cancelled is not there; any other is.
func TestCancelledAtAnyMoment(t *testing.T) {
	s := crm(t)
	var mu sync.Mutex
	done := map[string]bool{}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 0))
			for i := range 40 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.IntN(4000))*time.Microsecond)
				p := Product{fmt.Sprintf("p%d-%d", g, i), "t"}
				_, err := s.Commit(ctx, onto.Draft{}.Ensure(p))
				cancel()
				if err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
				mu.Lock()
				done[p.SKU] = err == nil
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for key, acknowledged := range done {
		_, err := s.Now().Get(t.Context(), onto.EntityID("Product", key))
		if (err == nil) != acknowledged {
			t.Errorf("%s: acknowledged %t, reading it gives %v", key, acknowledged, err)
		}
	}
}

// Two programs that register one type differently: one wins, and nothing of
// the other is stored.
func TestTypesRaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	first := openAt(t, path)
	won := make([]bool, 8)
	var wg sync.WaitGroup
	for i := range won {
		schema := onto.Schema{Kind: onto.KindEntity, Name: "T", Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}}}
		own := schema
		own.Name = fmt.Sprintf("Own%d", i)
		schema.Fields = append(schema.Fields, onto.Field{Name: "x", Type: []onto.FieldType{onto.String, onto.Int}[i%2]})
		wg.Go(func() {
			s, err := tryOpen(context.Background(), path, onto.Untyped(own), onto.Untyped(schema))
			if err != nil {
				wantError(t, err, onto.SchemaOutdated, "x: ")
				return
			}
			won[i] = true
			s.Close()
		})
	}
	wg.Wait()
	all, err := first.Schemas(t.Context())
	if err != nil || len(all) != 1+len(won)/2 {
		t.Errorf("got %d types, error %v; want T and those of its winners", len(all), err)
	}
	for i := range won {
		if won[i] != won[i%2] {
			t.Errorf("won: %v; want all even ones or all odd ones", won)
		}
	}
}

// Each limit is exact to the byte.
func TestLimitsAreExact(t *testing.T) {
	s := crm(t)
	overhead := len(`{"sku":"p","title":""}`)
	for _, over := range []int{0, 1} {
		for what, d := range map[string]onto.Draft{
			"fields":   onto.Draft{}.Ensure(Product{"p", strings.Repeat("x", onto.MaxFields-overhead+over)}),
			"key":      onto.Draft{}.Ensure(Product{strings.Repeat("k", onto.MaxKey+over), "t"}),
			"metadata": onto.Draft{Metadata: map[string]any{"m": strings.Repeat("x", onto.MaxMetadata-len(`{"m":""}`)+over)}}.Ensure(Product{"m", fmt.Sprint(over)}),
			"comment":  onto.Draft{Comment: strings.Repeat("x", onto.MaxComment+over)}.Ensure(Product{"c", fmt.Sprint(over)}),
		} {
			_, err := s.Commit(t.Context(), d)
			if over == 0 && err != nil {
				t.Errorf("%s at its limit: %v", what, err)
			}
			if over == 1 {
				wantError(t, err, onto.TooLarge, "limit")
			}
		}
	}
}
