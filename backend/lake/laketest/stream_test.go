package laketest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
)

// The contract holds where every stream is long: it lies on disk, is decided piece
// by piece, and its files have several parts, also those that are compacted.
func TestContractInPieces(t *testing.T) {
	if !longTurn(t, 2) {
		return
	}
	var buckets sync.Map
	backendtest.Run(t, backendtest.Target{
		Operations: 2_000,
		Open: func(t testing.TB, p *backendtest.Place) backend.Backend {
			b, _ := buckets.LoadOrStore(p.Name, memory.New(nil))
			o := &lake.Options{Now: p.Now, Target: p.Target, LockTimeout: p.LockTimeout, MigrationWait: p.MigrationWait, StreamBytes: 300, FileBytes: 500}
			return &compacting{Backend: openPieces(t, kept{b.(bucket.Bucket)}, o)}
		},
	})
}

func openPieces(t testing.TB, b bucket.Bucket, o *lake.Options) *lake.Backend {
	t.Helper()
	o.Trusted = true
	l, err := lake.Open(t.Context(), b, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// notes yields so many writes, in order of identity, with fields of about so many bytes.
func notes(from, n, bytes int) iter.Seq2[backend.Write, error] {
	return func(yield func(backend.Write, error) bool) {
		for i := range n {
			k := from + i
			text := strings.Repeat(fmt.Sprintf("%08x", k*2654435761), bytes/8+1)[:bytes]
			w := backend.Write{
				Identity: onto.EntityID("Note", fmt.Sprintf("k%07d", k)), Op: onto.Put, SchemaVersion: 1,
				Fields: fmt.Appendf(nil, `{"n":%d,"text":%q}`, k, text),
			}
			if !yield(w, nil) {
				return
			}
		}
	}
}

func registerNotes(t *testing.T, l *lake.Backend) {
	t.Helper()
	schema := onto.Schema{Kind: onto.KindEntity, Name: "Note", Fields: []onto.Field{{Name: "n", Type: onto.Int}, {Name: "text", Type: onto.String}}}
	if _, err := l.Register(t.Context(), &backend.Registration{Schemas: []onto.Schema{schema}, Runtime: "test", Reason: "initial"}); err != nil {
		t.Fatal(err)
	}
}

func streamDraft(key string) *backend.Draft {
	return &backend.Draft{Header: backend.Header{Actor: onto.Component("test"), IdempotencyKey: key}}
}

// wantNotes makes sure that the keys up to a number are there, each once.
func wantNotes(t *testing.T, l *lake.Backend, n int) {
	t.Helper()
	next := 0
	for v, err := range l.Scan(t.Context(), &backend.Query{Kind: onto.KindEntity, Type: "Note", At: backend.Head}) {
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("k%07d", next); v.Key != want {
			t.Fatalf("got %s, want %s", v.Key, want)
		}
		next++
	}
	if next != n {
		t.Fatalf("got %d notes, want %d", next, n)
	}
}

// A stream takes as much memory as it is allowed to, however long it is.
func TestStreamMemory(t *testing.T) {
	b := memory.New(nil)
	l := openPieces(t, &forgetful{Bucket: b}, &lake.Options{StreamBytes: 1 << 20})
	defer l.Close()
	registerNotes(t, l)
	const n, bytes = 60_000, 2_000 // 120 MB
	before, most := heap(), uint64(0)
	d := streamDraft("")
	asked := 0
	d.Admit = func(*backend.Write, *onto.Version) (bool, error) {
		if asked++; asked%5_000 == 0 {
			most = max(most, heap())
		}
		return true, nil
	}
	res, err := l.AppendStream(t.Context(), d, notes(0, n, bytes))
	if err != nil || res.Operations != n {
		t.Fatalf("%+v, %v", res, err)
	}
	if took := int64(most) - int64(before); took > 64<<20 {
		t.Errorf("it took %d MB for a stream of %d MB with 1 MB allowed", took>>20, n*bytes>>20)
	}
}

// heap is what is in use after a collection.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// forgetful is a bucket in memory that keeps only the length of large objects.
type forgetful struct{ bucket.Bucket }

func (f *forgetful) Create(ctx context.Context, key string, body []byte) (bucket.Tag, error) {
	if len(body) > 64<<10 {
		body = nil
	}
	return f.Bucket.Create(ctx, key, body)
}

// Commits while a long stream is decided make it decide again, once: then they wait.
func TestStreamOutrun(t *testing.T) {
	b := kept{memory.New(nil)}
	l := openPieces(t, b, &lake.Options{StreamBytes: 2_000})
	defer l.Close()
	other := openPieces(t, b, &lake.Options{LockTimeout: time.Millisecond})
	defer other.Close()
	registerNotes(t, l)
	asked, refused := 0, 0
	d := streamDraft("key")
	d.Admit = func(*backend.Write, *onto.Version) (bool, error) {
		if asked++; asked%100 != 0 {
			return true, nil
		}
		_, err := other.Append(t.Context(), &backend.Draft{Header: backend.Header{Actor: onto.Component("other")}, Writes: []backend.Write{{
			Identity: onto.EntityID("Note", fmt.Sprintf("k%07d", 300+asked/100)), Op: onto.Put, SchemaVersion: 1, Fields: []byte(`{"n":1,"text":""}`),
		}}})
		if onto.CodeOf(err) == onto.LockContention {
			refused, err = refused+1, nil
		}
		return true, err
	}
	res, err := l.AppendStream(t.Context(), d, notes(0, 300, 20))
	if err != nil || res.Operations != 300 {
		t.Fatalf("%+v, %v", res, err)
	}
	if asked != 600 || refused != 3 {
		t.Errorf("asked %d times, want 600; others were refused %d times, want 3", asked, refused)
	}
	if res.ID != 4 {
		t.Errorf("got commit %d, want 4, after three of others", res.ID)
	}
	again, err := l.AppendStream(t.Context(), streamDraft("key"), notes(0, 300, 20))
	if err != nil || !again.Repeated || again.ID != res.ID {
		t.Errorf("again: %+v, %v", again, err)
	}
	if leases, err := l.Leases(t.Context()); err != nil || len(leases) > 0 {
		t.Errorf("leases: %v, %v", leases, err)
	}
	wantTidy(t, other)
}

// A compaction meanwhile does not: the stream is decided and uploaded once.
func TestStreamBesideCompaction(t *testing.T) {
	b := kept{memory.New(nil)}
	l := openPieces(t, b, &lake.Options{StreamBytes: 2_000})
	defer l.Close()
	other := openPieces(t, b, &lake.Options{})
	defer other.Close()
	registerNotes(t, l)
	for i := range 3 {
		if _, err := l.AppendStream(t.Context(), streamDraft(""), notes(i*100, 100, 20)); err != nil {
			t.Fatal(err)
		}
	}
	asked := 0
	d := streamDraft("")
	d.Admit = func(*backend.Write, *onto.Version) (bool, error) {
		if asked++; asked != 50 {
			return true, nil
		}
		plan, err := other.PlanCompaction(t.Context(), &backend.CompactionOptions{All: true})
		if err == nil {
			_, err = other.Compact(t.Context(), plan, nil)
		}
		return true, err
	}
	res, err := l.AppendStream(t.Context(), d, notes(300, 100, 20))
	if err != nil || res.ID != 4 || asked != 100 {
		t.Fatalf("%+v, %v, asked %d times", res, err, asked)
	}
	wantNotes(t, l, 400)
	wantTidy(t, l)
}

// A stream that ends early leaves no orphans.
func TestStreamEndsEarly(t *testing.T) {
	b := kept{memory.New(nil)}
	l := openPieces(t, b, &lake.Options{StreamBytes: 2_000})
	defer l.Close()
	registerNotes(t, l)
	broken := errors.New("broken")
	ends := func(end func()) iter.Seq2[backend.Write, error] {
		return func(yield func(backend.Write, error) bool) {
			for w := range notes(0, 500, 20) {
				if !yield(w, nil) {
					return
				}
			}
			if end != nil {
				end()
				return
			}
			yield(backend.Write{}, broken)
		}
	}
	if _, err := l.AppendStream(t.Context(), streamDraft(""), ends(nil)); err != broken {
		t.Errorf("got %v, want the stream's error", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := l.AppendStream(ctx, streamDraft(""), ends(cancel)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was cancelled", err)
	}
	d := streamDraft("")
	asked := 0
	d.Admit = func(*backend.Write, *onto.Version) (bool, error) {
		if asked++; asked == 400 {
			return false, broken
		}
		return true, nil
	}
	if _, err := l.AppendStream(t.Context(), d, notes(0, 500, 20)); !errors.Is(err, broken) {
		t.Errorf("got %v, want the error of Admit", err)
	}
	found, err := b.List(t.Context(), "commits/", "", 10)
	if err != nil || len(found) > 0 {
		t.Errorf("left behind: %v, %v", found, err)
	}
	if res, err := l.AppendStream(t.Context(), streamDraft(""), notes(0, 500, 20)); err != nil || res.ID != 1 {
		t.Errorf("%+v, %v", res, err)
	}
	wantNotes(t, l, 500)
	wantTidy(t, l)
}

// wantTidy makes sure that the doctor finds nothing but objects that were replaced.
func wantTidy(t *testing.T, l *lake.Backend) {
	t.Helper()
	for f, err := range l.Check(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if f.Code != "objects_orphaned" {
			t.Error(f)
		}
	}
}
