package deploytest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/store"
)

// crowd is goroutines that each use a store in turn in every way.
type crowd struct {
	wg   sync.WaitGroup
	stop atomic.Bool

	mu      sync.Mutex // guards what follows
	changed *sync.Cond // it has
	calls   int
	errors  map[string]error // why goroutines have ended
}

func newCrowd() *crowd {
	c := &crowd{errors: map[string]error{}}
	c.changed = sync.NewCond(&c.mu)
	return c
}

// join lets a goroutine call one function after the other, each at least once, until it is
// stopped or a call fails.
func (c *crowd) join(name string, calls ...func(i int64) error) {
	c.wg.Go(func() {
		for i := int64(0); i == 0 || !c.stop.Load(); i++ {
			for _, call := range calls {
				if err := call(i); !c.made(name, err) {
					return
				}
			}
		}
	})
}

// made counts a call and reports whether its goroutine goes on.
func (c *crowd) made(name string, err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.changed.Broadcast()
	if c.calls++; err != nil {
		c.errors[name] = err
	}
	return err == nil
}

// work waits until so many calls were made, or one more than some goroutines has ended.
func (c *crowd) work(calls, ended int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for until := c.calls + calls; c.calls < until && len(c.errors) <= ended; {
		c.changed.Wait()
	}
}

// lose waits until so many goroutines have ended.
func (c *crowd) lose(ended int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.errors) < ended {
		c.changed.Wait()
	}
}

// end lets the goroutines end and returns why some have before.
func (c *crowd) end() map[string]error {
	c.stop.Store(true)
	c.wg.Wait()
	c.stop.Store(false)
	defer clear(c.errors)
	return maps.Clone(c.errors)
}

// typedCalls are the calls of a program with a struct, all about a person that only
// they write.
func typedCalls[T any](ctx context.Context, s *store.Store, key string, make func(i int64) T) []func(i int64) error {
	return []func(i int64) error{
		func(i int64) error { _, err := s.Commit(ctx, onto.Draft{}.Ensure(make(i))); return err },
		func(i int64) error {
			got, err := store.Get[T](ctx, s.Now(), key)
			if want := make(i); err == nil && !reflect.DeepEqual(got, want) {
				err = fmt.Errorf("got %+v, want %+v", got, want)
			}
			return err
		},
		func(int64) error { return drain(store.Find[T](s.Now()).All(ctx), 5) },
		func(int64) error {
			_, err := store.Find[T](s.At(1)).OrderBy(onto.Path("name").Asc()).Limit(2).Page(ctx)
			return err
		},
		func(int64) error { return drain(store.History[T](ctx, s, key), 5) },
	}
}

// namedCalls are the calls of a program without structs.
func namedCalls(ctx context.Context, s *store.Store, key string) []func(i int64) error {
	return []func(i int64) error{
		func(int64) error { _, err := s.Now().Find("Person").Count(ctx); return err },
		func(int64) error { _, err := s.Now().Get(ctx, onto.EntityID("Person", key)); return err },
		func(int64) error { return drain(s.History(ctx, onto.EntityID("Person", key)), 5) },
		func(int64) error { return drain(s.Diff(ctx, store.DiffOptions{From: onto.AtCommit(1)}), 5) },
		func(int64) error {
			_, err := s.Now().Find("Knows").Where(onto.Left("id").Ne("nobody")).Count(ctx)
			return err
		},
		func(int64) error { return drain(s.Now().Find("Person").Traverse(store.Via("Knows")).All(ctx), 5) },
		func(int64) error {
			return drain(s.At(1).Find("Knows").Where(onto.Left("age").Gt(0), onto.Right("age").Gt(0)).All(ctx), 5)
		},
		func(int64) error {
			plan, err := s.PlanRevert(ctx, store.Revert{Identity: onto.EntityID("Person", key), To: 1})
			if err != nil {
				return err
			}
			return drain(plan.Changes, 5)
		},
	}
}

// Goroutines of programs with several versions read and write while types change.
// Compatible changes stop none of them. One that is not ends those with structs, and
// those without go on.
func TestCrowdWhileTypesChange(t *testing.T) {
	changes := effort.Count(t, 50)
	everywhere(t, func(w world) {
		c := newCrowd()
		v1, v2 := w.open(typeV1(), knows), (*store.Store)(nil)
		w.commit(v1, personV1{"ada", "Ada", 36}, onto.Relation{Type: "Knows", Left: "ada", Right: "ada"})
		w.migrate(typeV2())
		v2 = w.open(typeV2(), knows)
		byName := w.open()
		mail := "m@x"
		for g := range 2 {
			one, two := fmt.Sprint("one", g), fmt.Sprint("two", g)
			c.join(one, typedCalls(w.Context(), v1, one, func(i int64) personV1 { return personV1{one, "A", i} })...)
			c.join(two, typedCalls(w.Context(), v2, two, func(i int64) personV2 { return personV2{two, "B", i, &mail, i} })...)
			c.join(fmt.Sprint("named", g), namedCalls(w.Context(), byName, "ada")...)
		}
		fields := []string{"name string", "age int", "mail string?", "tier int=1"}
		for i := range changes {
			if fields = append(fields, fmt.Sprintf("x%d int=%d", i, i)); i%2 == 0 {
				fields[len(fields)-1] = fmt.Sprintf("x%d int?", i)
			}
			w.migrate(person(fields...))
			c.work(100, 0)
		}
		for name, err := range c.end() {
			w.Errorf("%s: %v", name, err)
		}
		for _, key := range []string{"two0", "two1"} { // what the others wrote is whole
			v, err := byName.Now().Get(w.Context(), onto.EntityID("Person", key))
			if err != nil || !strings.Contains(string(v.Fields), `"mail":"m@x"`) {
				w.Errorf("%s: got %s, %v", key, v.Fields, err)
			}
		}

		for g := range 2 {
			one, two := fmt.Sprint("one", g), fmt.Sprint("two", g)
			c.join(one, typedCalls(w.Context(), v1, one, func(i int64) personV1 { return personV1{one, "C", i} })...)
			c.join(two, typedCalls(w.Context(), v2, two, func(i int64) personV2 { return personV2{two, "D", i, &mail, i} })...)
			c.join(fmt.Sprint("named", g), namedCalls(w.Context(), byName, "ada")...)
		}
		fields[0] = "called string"
		w.migrate(person(fields...), store.RenameField("Person", 2+changes, "name", "called"))
		c.lose(4) // each with a struct
		c.work(50, 4)
		for name, err := range c.end() {
			if strings.HasPrefix(name, "named") || !errors.Is(err, onto.SchemaOutdated) || !strings.Contains(err.Error(), "name, - called") {
				w.Errorf("%s: got %v", name, err)
			}
		}
		w.Logf("%d calls while types changed %d times", c.calls, changes+1)
	})
}

// meddling is a backend beside which something happens right after a call.
type meddling struct {
	backend.Backend
	registered, read func()
}

func (m meddling) Unwrap() backend.Backend { return m.Backend }

func (m meddling) Register(ctx context.Context, r *backend.Registration) ([]onto.SchemaVersion, error) {
	defer m.registered()
	return m.Backend.Register(ctx, r)
}

func (m meddling) Schemas(ctx context.Context) ([]onto.SchemaVersion, error) {
	defer m.read()
	return m.Backend.Schemas(ctx)
}

// A type changes while a program opens the store.
func TestOpenWhileTypesChange(t *testing.T) {
	nothing := func() {}
	rename := func(w world) func() {
		return sync.OnceFunc(func() {
			w.migrate(person("called string", "age int"), store.RenameField("Person", 1, "name", "called"))
		})
	}
	everywhere(t, func(w world) {
		w.commit(w.open(typeV1(), knows), personV1{"ada", "Ada", 36})
		s, err := store.Open(w.Context(), meddling{w.handle(), rename(w), nothing}, typeV1())
		if err != nil {
			w.Fatal(err)
		}
		w.refused(onto.SchemaOutdated, func() error {
			_, err := s.Commit(w.Context(), onto.Draft{}.Ensure(personV1{"bob", "Bob", 40}))
			return err
		}, "Person: + name, - called")
	})
	for _, call := range []int{1, 2} { // of those that open makes
		t.Run(strconv.Itoa(call), func(t *testing.T) {
			everywhere(t, func(w world) {
				w.commit(w.open(typeV1(), knows), personV1{"ada", "Ada", 36})
				change, calls := rename(w), 0
				s, err := store.Open(w.Context(), meddling{w.handle(), nothing, func() {
					if calls++; calls == call {
						change()
					}
				}}, knows)
				if err != nil {
					w.Fatal(err)
				}
				n, err := s.Now().Find("Person").Count(w.Context())
				if err != nil || n != 1 {
					w.Errorf("got %d, %v", n, err)
				}
				v, err := s.At(1).Get(w.Context(), onto.EntityID("Person", "ada"))
				if want := `{"age":36,"called":"Ada","id":"ada"}`; err != nil || string(v.Fields) != want {
					w.Errorf("got %s, %v; want %s", v.Fields, err, want)
				}
			})
		})
	}
}
