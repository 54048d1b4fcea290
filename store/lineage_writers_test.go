package store_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// lineWriter is a program that runs beside the newest version of a lineage's type and
// knows some of its fields. It has a handle of its own on each place.
type lineWriter struct {
	what   string
	schema onto.Schema // as it knows the type
	stores []*store.Store
	thing  func(key string, fields map[string]any) any // what it commits
	check  func(s *store.Store) int                    // compares what it reads of its fields; nil if it reads by name
}

// lineSmall and lineMore have some fields of a lineage's type.
type lineSmall struct {
	ID string `json:"id" onto:"key"`
	A  string `json:"a"`
}

type lineMore struct {
	ID string `json:"id" onto:"key"`
	A  string `json:"a"`
	N  *int64 `json:"n"`
}

// startWriter opens the stores as a program with some type would: one that learns the
// newest, one with a version of earlier, or one with a struct. It may not be able to.
func (l *lineage) startWriter() {
	if len(l.writers) == 4 {
		return
	}
	var w *lineWriter
	var types []onto.Type
	switch l.r.IntN(4) {
	case 0:
		w, types = typedWriter[lineSmall](l)
	case 1:
		w, types = typedWriter[lineMore](l)
	case 2:
		w = &lineWriter{what: "by name", schema: l.schema}
	default:
		all, err := l.stores[0].Schemas(l.t.Context())
		if err != nil {
			l.t.Fatal(err)
		}
		all = slices.DeleteFunc(all, func(v onto.SchemaVersion) bool { return v.Schema.Name != l.schema.Name })
		v := all[l.r.IntN(len(all))]
		w = &lineWriter{what: fmt.Sprint("version ", v.Version), schema: v.Schema}
		types = []onto.Type{onto.Untyped(v.Schema)}
	}
	if w.thing == nil {
		w.thing = func(key string, fields map[string]any) any {
			return onto.Entity{Type: w.schema.Name, Key: key, Fields: fields}
		}
	}
	refused := 0
	for _, place := range l.places {
		s, err := store.Open(l.t.Context(), place(), types...)
		switch {
		case onto.CodeOf(err) == onto.SchemaOutdated:
			refused++
		case err != nil:
			l.t.Fatal(err)
		default:
			w.stores = append(w.stores, s)
		}
	}
	if goesOn := l.serves(w.schema); refused != 0 && goesOn || refused != len(l.places) && !goesOn {
		l.t.Fatalf("%s is refused by %d of %d, want that it opens: %t; turns %+v", w.what, refused, len(l.places), goesOn, l.turns)
	}
	if refused == 0 {
		l.writers = append(l.writers, w)
	}
}

// serves tells, in words of its own, whether a program with a type can use the newest:
// what it knows is there, and what it does not know can be absent or has a default.
func (l *lineage) serves(s onto.Schema) bool {
	for _, f := range s.Fields {
		now, ok := l.schema.Field(f.Name)
		wider := now.Type == f.Type || f.Type == onto.Int && now.Type == onto.Float
		if !ok || !wider || f.Optional && !now.Optional || string(f.Default) != string(now.Default) {
			return false
		}
	}
	for _, now := range l.schema.Fields {
		if _, known := s.Field(now.Name); !known && !now.Optional && now.Default == nil {
			return false
		}
	}
	return !l.abandoned(s)
}

// abandoned reports whether a type is a version of earlier that a change which is not
// compatible has ended, as far back as the name goes.
func (l *lineage) abandoned(s onto.Schema) bool {
	all, err := l.stores[0].Schemas(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	compatible := true
	for i := len(l.turns); i >= 0; i-- { // the version after so many turns
		at := slices.IndexFunc(all, func(v onto.SchemaVersion) bool {
			return v.Schema.Name == l.schema.Name && v.Version == l.version()-(len(l.turns)-i)
		})
		if at < 0 {
			return false
		}
		if onto.DiffSchemas(all[at].Schema, s).Empty() {
			return !compatible
		}
		if i > 0 {
			compatible = compatible && l.turns[i-1].compatible
		}
	}
	return false
}

// typedWriter is a program with a struct.
func typedWriter[T any](l *lineage) (*lineWriter, []onto.Type) {
	typ := onto.TypeOf[T]().As(l.schema.Name)
	schema, err := typ.Schema()
	if err != nil {
		l.t.Fatal(err)
	}
	decode := func(fields []byte) (value T) {
		if err := json.Unmarshal(fields, &value); err != nil {
			l.t.Fatal(err)
		}
		return value
	}
	w := &lineWriter{what: fmt.Sprint(reflect.TypeFor[T]()), schema: schema}
	w.thing = func(_ string, fields map[string]any) any { return decode([]byte(text(fields))) }
	w.check = func(s *store.Store) (n int) {
		for at := range l.head() + 1 {
			want := map[string]T{}
			for key, was := range l.past[at] {
				want[key] = decode([]byte(l.present(was, at)))
			}
			got := map[string]T{}
			for value, err := range store.Find[T](s.At(at)).All(l.t.Context()) {
				if err != nil {
					l.t.Fatalf("%s at %d: %v; turns %+v", w.what, at, err, l.turns)
				}
				got[reflect.ValueOf(value).Field(0).String()] = value
			}
			if n++; !reflect.DeepEqual(got, want) {
				l.t.Fatalf("%s at %d: got %+v, want %+v", w.what, at, got, want)
			}
		}
		return n
	}
	return w, []onto.Type{typ}
}

// writeByWriters lets one of the writers commit: what it knows is as it says, and
// everything else stays as it is.
func (l *lineage) writeByWriters() {
	if len(l.writers) == 0 {
		return
	}
	w := l.writers[l.r.IntN(len(l.writers))]
	next, d, things := maps.Clone(l.past[l.head()]), onto.Draft{}, []any(nil)
	changed := false
	for _, n := range l.r.Perm(4)[:1+l.r.IntN(3)] {
		key := "k" + strconv.Itoa(n)
		was, lives := next[key]
		if lives && l.r.IntN(5) == 0 {
			delete(next, key)
			things = append(things, onto.EntityID(l.schema.Name, key))
			changed = true
			continue
		}
		given := l.fieldsOf(&w.schema, key)
		things = append(things, w.thing(key, given))
		if fields := l.merged(w, was.fields, given); !lives || text(was.fields) != text(fields) {
			next[key] = thing{l.schema.Name, fields, l.head() + 1, l.since(key)}
			changed = true
		}
	}
	stream, reads := l.r.IntN(3) == 0, l.r.IntN(2) == 0
	for i, s := range w.stores {
		if reads { // and so learns the newest type
			if _, err := s.Now().Find(l.schema.Name).Count(l.t.Context()); err != nil {
				l.t.Fatal(err)
			}
		}
		res, err := l.commit(s, d, things, stream)
		if err != nil || res.Changed() != changed {
			l.t.Fatalf("store %d, %s, %+v: got %+v, %v; want a change: %t; turns %+v", i, w.what, things, res, err, changed, l.turns)
		}
	}
	if l.writes++; changed {
		l.past = append(l.past, next)
	}
}

func (l *lineage) commit(s *store.Store, d onto.Draft, things []any, stream bool) (onto.Result, error) {
	if stream {
		return s.CommitStream(l.t.Context(), d, func(yield func(any, error) bool) {
			for _, thing := range things {
				if !yield(thing, nil) {
					return
				}
			}
		})
	}
	for _, thing := range things {
		if id, ok := thing.(onto.Identity); ok {
			d = d.Delete(id)
		} else {
			d = d.Ensure(thing)
		}
	}
	return s.Commit(l.t.Context(), d)
}

// merged is the fields of a thing after a write.
func (l *lineage) merged(w *lineWriter, before, given map[string]any) map[string]any {
	fields := maps.Clone(given)
	for name, value := range before {
		if _, known := w.schema.Field(name); !known {
			fields[name] = value
		}
	}
	for _, f := range l.schema.Fields {
		if _, has := fields[f.Name]; !has && f.Default != nil {
			fields[f.Name] = int64(7)
		}
	}
	return fields
}

// endWriters is for a change that writers cannot follow: what they write is refused,
// and changes nothing.
func (l *lineage) endWriters() {
	for _, w := range l.writers {
		for i, s := range w.stores {
			key := "k" + strconv.Itoa(l.r.IntN(4))
			res, err := l.commit(s, onto.Draft{}, []any{w.thing(key, l.fieldsOf(&w.schema, key))}, l.r.IntN(2) == 0)
			if onto.CodeOf(err) != onto.SchemaOutdated {
				l.t.Fatalf("store %d, %s: got %+v, %v; want that it is outdated; turns %+v", i, w.what, res, err, l.turns)
			}
			if head, err := s.Head(l.t.Context()); err != nil || head.ID != l.head() {
				l.t.Fatalf("store %d, %s: got head %d, %v; want %d", i, w.what, head.ID, err, l.head())
			}
			s.Close()
		}
		l.ended++
	}
	l.writers = nil
}

// checkWriters compares what the writers read, and ends them.
func (l *lineage) checkWriters() (n int) {
	for _, w := range l.writers {
		for i, s := range w.stores {
			if w.check != nil {
				n += w.check(s)
			}
			if _, err := s.Now().Find(l.schema.Name).Count(l.t.Context()); err != nil { // it learns the newest type
				l.t.Fatal(err)
			}
			for at := range l.head() + 1 {
				if got, want := l.texts(s.At(at).Find(l.schema.Name).All(l.t.Context())), l.state(at, nil); !slices.Equal(got, want) {
					l.t.Fatalf("store %d of %s, state at %d, turns %+v:\ngot  %q\nwant %q", i, w.what, at, l.turns, got, want)
				}
				n++
			}
			s.Close()
		}
	}
	l.writers = nil
	return n
}
