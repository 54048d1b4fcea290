package deploytest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket/file"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/child"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/store"
)

func TestMain(m *testing.M) {
	child.Main(map[string]child.Job{"program": runProgram})
	os.Exit(effort.Main(m))
}

// open opens the store in a directory.
func open(ctx context.Context, kind, dir string) (backend.Backend, error) {
	if kind == "sqlite" {
		return sqlite.Open(ctx, filepath.Join(dir, "store.db"), &sqlite.Options{LockTimeout: time.Minute})
	}
	b, err := file.Open(dir, nil)
	if err != nil {
		return nil, err
	}
	return lake.Open(ctx, b, &lake.Options{Patience: time.Minute})
}

// accountV1 is an Account as the first generation of the program has it.
type accountV1 struct {
	ID    string `json:"id" onto:"key"`
	Owner string `json:"owner"`
	N     int64  `json:"n"`
}

// accountV2 is an Account as all later ones have it.
type accountV2 struct {
	ID    string  `json:"id" onto:"key"`
	Owner string  `json:"owner"`
	N     int64   `json:"n"`
	Note  *string `json:"note"`
	Tier  *int64  `json:"tier" onto:"default=1"`
}

// version is what the program does with its struct.
type version[T any] struct {
	make func(id, owner string, n int64, note string) T
	bump func(a *T, note string) // what an increment changes
}

var v1 = version[accountV1]{
	func(id, owner string, n int64, note string) accountV1 { return accountV1{id, owner, n} },
	func(a *accountV1, _ string) { a.N++ },
}

var v2 = version[accountV2]{
	func(id, owner string, n int64, note string) accountV2 { return accountV2{id, owner, n, &note, &n} },
	func(a *accountV2, note string) {
		tier := *a.Tier + 1
		a.N, a.Tier, a.Note = a.N+1, &tier, &note
	},
}

// follows is a relation that never changes.
var follows = onto.Untyped(onto.Schema{Kind: onto.KindRelation, Name: "Follows", Left: "Account", Right: "Account"})

// accountType is the type that a generation of the program migrates to: each adds an
// optional field and one with a default to that of the one before.
func accountType(generation int) onto.Type {
	s, err := onto.TypeOf[accountV2]().As("Account").Schema()
	if err != nil {
		panic(err)
	}
	for g := 3; g <= generation; g++ {
		s.Fields = append(s.Fields, onto.Field{Name: fmt.Sprint("x", g), Type: onto.String, Optional: true},
			onto.Field{Name: fmt.Sprint("d", g), Type: onto.Int, Default: []byte(strconv.Itoa(g))})
	}
	s.SortFields()
	return onto.Untyped(s)
}

// ack is a write that was acknowledged.
type ack struct {
	Commit int64
	Key    string
	Known  []string       // the fields that it decides
	Fields map[string]any // nil for a delete
}

// runProgram is a process: it prints what is acknowledged, and ends when its input does.
func runProgram(args []string) error {
	generation, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	seed, err := strconv.ParseUint(args[5], 10, 64)
	if err != nil {
		return err
	}
	p := process{slot: args[3], generation: generation, byNames: args[4] == "true", seed: seed, run: strconv.Itoa(os.Getpid())}
	go func() {
		_, _ = io.Copy(io.Discard, bufio.NewReader(os.Stdin))
		p.stop.Store(true)
	}()
	if generation == 1 {
		err = serve(&p, args[0], args[1], v1)
	} else {
		err = serve(&p, args[0], args[1], v2)
	}
	if err != nil {
		p.print("failed", failureOf(err))
		return nil
	}
	p.print("end", p.calls())
	return nil
}

// failure is why a process ended early.
type failure struct {
	Code        onto.Code
	Message     string
	Differences []onto.Difference
}

func failureOf(err error) failure {
	f := failure{Code: onto.CodeOf(err), Message: err.Error()}
	var e *onto.Error
	if errors.As(err, &e) {
		f.Differences = e.Differences
	}
	return f
}

// process is one run of the program.
type process struct {
	slot, run  string
	generation int
	byNames    bool   // it also writes without a struct
	seed       uint64 // of what its workers choose
	stop       atomic.Bool

	mu     sync.Mutex // guards what is printed and what is counted
	counts map[string]int
}

func (p *process) print(word string, doc any) {
	text, err := json.Marshal(doc)
	if err != nil {
		panic(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Printf("%s %s\n", word, text)
}

func (p *process) count(call string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.counts == nil {
		p.counts = map[string]int{}
	}
	p.counts[call]++
}

func (p *process) calls() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts
}

// serve opens the store as a program does that is deployed, and works until it is
// stopped.
func serve[T any](p *process, kind, dir string, v version[T]) error {
	ctx := context.Background()
	b, err := open(ctx, kind, dir)
	if err != nil {
		return err
	}
	if p.generation > 1 {
		p.count("migrate")
		m := &store.Migration{Types: []onto.Type{accountType(p.generation)}}
		if _, _, err := store.Migrate(ctx, b, m, &store.ApplyOptions{Force: true, Wait: time.Minute}); err != nil {
			b.Close()
			return fmt.Errorf("migrate: %w", err)
		}
	}
	s, err := store.Open(ctx, b, onto.TypeOf[T]().As("Account"), follows)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	defer s.Close()
	p.print("open", p.generation)
	errs := make([]error, 2)
	var wg sync.WaitGroup
	for i := range errs {
		w := &worker[T]{process: p, version: v, s: s, name: fmt.Sprint(p.slot, "-", i), random: rand.New(rand.NewPCG(p.seed, uint64(i)))}
		wg.Go(func() {
			for n := int64(1); errs[i] == nil && !p.stop.Load(); n++ {
				errs[i] = w.step(ctx, n)
			}
			if errs[i] != nil {
				p.stop.Store(true)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// worker does one thing after the other.
type worker[T any] struct {
	*process
	version[T]
	s      *store.Store
	random *rand.Rand
	name   string
	cursor string
	most   int64 // things that were counted
	head   int64 // a commit that exists
}

// step writes in one way and reads in some.
func (w *worker[T]) step(ctx context.Context, n int64) error {
	note := fmt.Sprintf("%s %s %d", w.run, w.name, n)
	var err error
	switch n % 6 {
	case 0:
		err = w.remove(ctx, "own-"+w.name)
	case 1:
		err = w.ensure(ctx, w.make("blind-"+strconv.Itoa(w.random.IntN(3)), note, n, note))
	case 2:
		err = w.stream(ctx, n, note)
	case 3:
		if !w.byNames {
			break
		}
		err = w.byName(ctx, n, note)
	case 4:
		err = w.link(ctx, n)
	default:
		own := w.make("own-"+w.name, note, n, note)
		if err = w.ensure(ctx, own); err == nil {
			err = w.same(ctx, own)
		}
	}
	if err == nil {
		err = w.increment(ctx, "shared-"+strconv.Itoa(w.random.IntN(3)), note)
	}
	if err == nil {
		err = w.read(ctx, n)
	}
	return err
}

// fieldsOf are the fields that a struct gives, and the names of all that it knows.
func fieldsOf(thing any) (map[string]any, []string) {
	text, err := json.Marshal(thing)
	var fields map[string]any
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil {
		panic(err)
	}
	var known []string
	for name, value := range fields {
		if known = append(known, name); value == nil {
			delete(fields, name)
		}
	}
	return fields, known
}

// commit commits things and tells about them.
func (w *worker[T]) commit(ctx context.Context, d onto.Draft, things ...T) error {
	w.count("commit")
	res, err := w.s.Commit(ctx, d.Ensure(things))
	if err != nil {
		return err
	}
	return w.acknowledged(res, things...)
}

func (w *worker[T]) acknowledged(res onto.Result, things ...T) error {
	if !res.Changed() {
		return fmt.Errorf("%+v changes nothing", things)
	}
	w.head = res.ID
	for _, thing := range things {
		fields, known := fieldsOf(thing)
		w.print("ack", ack{res.ID, fields["id"].(string), known, fields})
	}
	return nil
}

func (w *worker[T]) ensure(ctx context.Context, thing T) error {
	return w.commit(ctx, onto.Draft{}, thing)
}

func (w *worker[T]) remove(ctx context.Context, key string) error {
	w.count("delete")
	res, err := w.s.Commit(ctx, onto.Draft{}.Delete(onto.EntityID("Account", key)))
	if err == nil && res.Changed() {
		w.print("ack", ack{Commit: res.ID, Key: key})
	}
	return err
}

// stream commits a few things as a stream.
func (w *worker[T]) stream(ctx context.Context, n int64, note string) error {
	w.count("stream")
	var things []T
	for i := range 3 {
		things = append(things, w.make(fmt.Sprint("stream-", w.name, "-", i), note, n, note))
	}
	res, err := w.s.CommitStream(ctx, onto.Draft{}, func(yield func(any, error) bool) {
		for _, thing := range things {
			if !yield(thing, nil) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	return w.acknowledged(res, things...)
}

// byName writes without a struct: the fields of the first generation, and of later
// ones those that are new in it.
func (w *worker[T]) byName(ctx context.Context, n int64, note string) error {
	w.count("commit by name")
	key := "named-" + w.name
	fields := map[string]any{"id": key, "owner": note, "n": n}
	if w.generation > 2 {
		fields[fmt.Sprint("x", w.generation)], fields[fmt.Sprint("d", w.generation)] = note, n
	}
	res, err := w.s.Commit(ctx, onto.Draft{}.Ensure(onto.Entity{Type: "Account", Key: key, Fields: fields}))
	if err != nil {
		return err
	}
	_, known := fieldsOf(*new(T))
	for name := range fields {
		if !slices.Contains(known, name) {
			known = append(known, name)
		}
	}
	w.print("ack", ack{res.ID, key, known, fields})
	return nil
}

// link relates an account to another; the relation's type never changes.
func (w *worker[T]) link(ctx context.Context, n int64) error {
	w.count("link")
	_, err := w.s.Commit(ctx, onto.Draft{}.Ensure(onto.Relation{Type: "Follows", Left: "shared-0", Right: fmt.Sprint("own-", w.name)}))
	if err == nil {
		_, err = w.s.Now().Find("Follows").Where(onto.Left("n").Ge(0)).Count(ctx)
	}
	return err
}

// increment adds one to what others add to as well.
func (w *worker[T]) increment(ctx context.Context, key, note string) error {
	id := onto.EntityID("Account", key)
	for {
		w.count("increment")
		found, err := w.s.Now().Get(ctx, id)
		var thing T
		switch {
		case errors.Is(err, onto.NotFound):
			thing = w.make(key, "all", 1, note)
		case err != nil:
			return err
		default:
			if thing, err = store.Get[T](ctx, w.s.At(found.Commit), key); err != nil {
				return err
			}
			w.bump(&thing, note)
		}
		err = w.commit(ctx, onto.Draft{}.ExpectVersion(id, found.Commit), thing)
		if !errors.Is(err, onto.VersionMismatch) {
			return err
		}
		w.count("lost race")
	}
}

// same reads back what only this worker writes.
func (w *worker[T]) same(ctx context.Context, want T) error {
	w.count("get")
	fields, _ := fieldsOf(want)
	got, err := store.Get[T](ctx, w.s.Now(), fields["id"].(string))
	if err == nil && !reflect.DeepEqual(got, want) {
		err = fmt.Errorf("got %+v, want %+v", got, want)
	}
	return err
}

// read asks in one of several ways.
func (w *worker[T]) read(ctx context.Context, n int64) error {
	find := store.Find[T](w.s.Now()).OrderBy(onto.Path("owner").Asc())
	switch n % 5 {
	case 0:
		w.count("count")
		all, err := w.s.Now().Find("Account").Where(onto.Path("id").StartsWith("stream-" + w.name)).Count(ctx)
		if err == nil && all < w.most {
			err = fmt.Errorf("got %d accounts, and there were %d", all, w.most)
		}
		w.most = all
		return err
	case 1:
		w.count("page")
		page, err := find.Limit(3).After(w.cursor).Page(ctx)
		w.cursor = page.Next
		return err
	case 2:
		w.count("at")
		_, err := store.Find[T](w.s.At(1 + w.random.Int64N(w.head))).Limit(5).Page(ctx)
		return err
	case 3:
		w.count("history")
		return drain(store.History[T](ctx, w.s, "shared-0"), 20)
	}
	w.count("find")
	return drain(find.Where(onto.Path("n").Ge(0)).All(ctx), 20)
}

// drain reads the start of a sequence.
func drain[T any](seq iter.Seq2[T, error], most int) error {
	for _, err := range seq {
		if most--; err != nil && !errors.Is(err, onto.NotFound) {
			return err
		} else if most == 0 {
			break
		}
	}
	return nil
}
