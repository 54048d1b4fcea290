package cache_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/ontologia/onto/backend/lake/cache"
	"github.com/ontologia/onto/internal/effort"
)

func sameFile(name string, want []byte) error {
	got, err := os.ReadFile(name)
	if err == nil && !bytes.Equal(got, want) {
		err = fmt.Errorf("%s has %d bytes that are not the object's %d", name, len(got), len(want))
	}
	return err
}

// model is what a cache alone in its directory must do: a list in the order of use,
// from which the oldest unused one is removed.
type model struct {
	limit int64
	order []int // the one used last at the end
	sizes map[int]int
	users map[int]int
}

func (m *model) held() (sum int64) {
	for _, n := range m.order {
		sum += int64(m.sizes[n])
	}
	return sum
}

func (m *model) touch(n int) {
	m.order = append(slices.DeleteFunc(m.order, func(o int) bool { return o == n }), n)
}

func (m *model) trim() {
	for _, n := range slices.Clone(m.order) {
		large := int64(m.sizes[n]) > m.limit
		if m.users[n] == 0 && (large || m.held() > m.limit) {
			m.order = slices.DeleteFunc(m.order, func(o int) bool { return o == n })
		}
	}
}

func TestAgainstAModel(t *testing.T) {
	for seed := range effort.Seeds(t, 40) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { runModel(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

func runModel(t *testing.T, r *rand.Rand) {
	const objects, steps = 15, 300
	dir := t.TempDir()
	m := &model{limit: 1000, sizes: map[int]int{}, users: map[int]int{}}
	for n := range objects {
		m.sizes[n] = 1 + r.IntN(300)
	}
	m.sizes[0] = 1500 // larger than the limit
	c := open(t, dir, m.limit)
	ticking(c)
	type use struct {
		n       int
		name    string
		release func()
	}
	var uses []use
	for step := range steps {
		n := r.IntN(objects)
		data := body(n, m.sizes[n])
		switch held := slices.Contains(m.order, n); r.IntN(4) {
		case 0, 1:
			fetched := false
			name, release := get(t, c, n, m.sizes[n], fetching(func(context.Context) ([]byte, error) { fetched = true; return data, nil }))
			if fetched == held {
				t.Fatalf("step %d, get %d: fetched %v, held %v", step, n, fetched, held)
			}
			uses = append(uses, use{n, name, release})
			m.touch(n)
			m.users[n]++
		case 2:
			c.Put(objectOf(n, data), data)
			if !held && int64(len(data)) <= m.limit {
				m.touch(n)
			}
		case 3:
			if len(uses) > 0 {
				i := r.IntN(len(uses))
				if err := sameFile(uses[i].name, body(uses[i].n, m.sizes[uses[i].n])); err != nil {
					t.Fatalf("step %d: %v", step, err)
				}
				uses[i].release()
				m.users[uses[i].n]--
				uses = slices.Delete(uses, i, i+1)
			}
		}
		m.trim()
		wantModel(t, step, dir, c, m)
	}
	for _, u := range uses {
		u.release()
	}
	if s := c.Stats(); s.Bytes > m.limit {
		t.Errorf("at the end: got %+v, the limit is %d", s, m.limit)
	}
}

// wantModel compares what the cache says and what is on disk with the model.
func wantModel(t *testing.T, step int, dir string, c *cache.Cache, m *model) {
	t.Helper()
	if s := c.Stats(); s.Bytes != m.held() || s.Files != len(m.order) {
		t.Fatalf("step %d: got %+v, want %d bytes in %d files", step, s, m.held(), len(m.order))
	}
	for n, size := range m.sizes {
		_, err := os.Stat(sharedFile(dir, objectOf(n, body(n, size))))
		want := slices.Contains(m.order, n) && int64(size) <= m.limit
		if (err == nil) != want {
			t.Fatalf("step %d, object %d: in the shared folder %v, want %v", step, n, err == nil, want)
		}
	}
	if got := len(files(t, c.Directory())); got != len(m.order)+1 {
		t.Fatalf("step %d: %d files in the folder of the process, want %d and the lock", step, got, len(m.order))
	}
}

func BenchmarkGetHit(b *testing.B) {
	c := open(b, b.TempDir(), 0)
	data := body(1, 1<<20)
	o := objectOf(1, data)
	c.Put(o, data)
	for b.Loop() {
		_, release, err := c.Get(b.Context(), o, noFetch)
		if err != nil {
			b.Fatal(err)
		}
		release()
	}
}

func BenchmarkPutOneMegabyte(b *testing.B) {
	c := open(b, b.TempDir(), 64<<20)
	data := body(1, 1<<20)
	b.SetBytes(1 << 20)
	for n := 0; b.Loop(); n++ {
		b.StopTimer()
		copy(data, fmt.Sprint(n, " "))
		o := objectOf(1, data)
		b.StartTimer()
		c.Put(o, data)
	}
}
