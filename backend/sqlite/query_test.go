package sqlite_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/internal/exec"
	"github.com/ontologia/onto/internal/words"
)

// TestSQLAgreesWithProcess asks random questions about random rows, and answers
// them in process from a plain scan.
func TestSQLAgreesWithProcess(t *testing.T) {
	t.Parallel()
	files := 0
	effort.Check(t, 500, func(rt *rapid.T) {
		files++
		path := filepath.Join(t.TempDir(), fmt.Sprintf("%d.db", files))
		b, err := sqlite.Open(t.Context(), path, nil)
		if err != nil {
			rt.Fatal(err)
		}
		defer b.Close()
		w := world{T: rt, b: b}
		w.fill()
		for range 12 {
			w.askQuery()
			w.askGroups()
		}
	})
}

// world is a store with random rows.
type world struct {
	*rapid.T
	b    *sqlite.Backend
	head int64
}

// Types with fields of each type, one of which is indexed, and with fields that
// can hold anything.
func worldSchemas() []onto.Schema {
	fields := []onto.Field{
		{Name: "any", Type: onto.Any, Optional: true}, {Name: "bool", Type: onto.Bool, Optional: true},
		{Name: "float", Type: onto.Float, Optional: true}, {Name: "id", Type: onto.String},
		{Name: "int", Type: onto.Int, Optional: true}, {Name: "list", Type: onto.List, Optional: true},
		{Name: "must", Type: onto.Int}, {Name: "object", Type: onto.Object, Optional: true},
		{Name: "string", Type: onto.String, Optional: true, Index: true, Search: true},
	}
	belief := onto.Schema{Kind: onto.KindFact, Name: "Belief", Left: "Thing", Fields: slices.Concat(fields, onto.FactFields(false))}
	for i := range belief.Fields {
		belief.Fields[i].Optional = true
	}
	belief.SortFields()
	return []onto.Schema{
		{Kind: onto.KindEntity, Name: "Thing", Key: "id", Fields: fields}, belief,
		{Kind: onto.KindRelation, Name: "Tie", Left: "Thing", Right: "Thing", Fields: fields},
	}
}

func (w *world) fill() {
	if _, err := w.b.Register(w.Context(), &backend.Registration{Schemas: worldSchemas()}); err != nil {
		w.Fatal(err)
	}
	for range rapid.IntRange(1, 4).Draw(w.T, "commits") {
		byID := map[onto.Identity]backend.Write{}
		for range rapid.IntRange(1, 12).Draw(w.T, "writes") {
			write := w.write()
			byID[write.Identity] = write
		}
		var d backend.Draft
		for _, write := range byID {
			d.Writes = append(d.Writes, write)
		}
		d.Writes, _ = backend.SortWrites(d.Writes)
		r, err := w.b.Append(w.Context(), &d)
		if err != nil {
			w.Fatal(err)
		}
		if r.ID > 0 {
			w.head = r.ID
		}
	}
}

func (w *world) key() string { return rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(w.T, "key") }

func (w *world) kind() onto.Kind { return rapid.SampledFrom(onto.Kinds()).Draw(w.T, "kind") }

func (w *world) write() backend.Write {
	id := onto.EntityID("Thing", w.key())
	switch w.kind() {
	case onto.KindFact:
		id = onto.FactID("Belief", w.key(), w.key(), w.key())
	case onto.KindRelation:
		id = onto.RelationID("Tie", w.key(), w.key())
	}
	if rapid.IntRange(0, 5).Draw(w.T, "delete") == 0 {
		return backend.Write{Identity: id, Op: onto.Delete, SchemaVersion: 1}
	}
	fields := []codec.Member{}
	for _, f := range worldSchemas()[0].Fields {
		switch {
		case f.Name == "id":
			key, _ := codec.AppendString(nil, id.Key+id.Left)
			fields = append(fields, codec.Member{Name: "id", Value: key})
		case !f.Optional || rapid.IntRange(0, 3).Draw(w.T, "absent") > 0:
			fields = append(fields, codec.Member{Name: f.Name, Value: w.value(f.Type, 2)})
		}
	}
	return backend.Write{Identity: id, Op: onto.Put, Fields: codec.AppendObject(nil, fields), SchemaVersion: 1}
}

var (
	worldTexts = []string{"", "a", "ab", "abc", "b", "1", "true", "null", "[1]", "{}", `{"a":1}`, "é", "日本", "日", "😀", "\U0010FFFF",
		"\uD7FF", "\uE000", "a\x01b", `a"b`, `a\b`, "%", "_", "A", "'", "; DROP TABLE commits; --", "$.a", "?",
		"2026-02-10T12:34:56.789012+00:00", "2024-12-30T00:00:00.000000+00:00", "2023-02-29T12:34:56.789012+00:00", "2026-02-10T12:34:56+00:00"}
	worldNumbers = []string{"0", "1", "-1", "2", "1.5", "-0.5", "1e300", "5e-324", "9007199254740992", "9007199254740993",
		"9223372036854775807", "-9223372036854775808", "9223372036854775808e0", "0.25", "4294967296", "-4294967297"}
	worldNames = []string{"a", "b", "x y", `q"`, `b\s`, "", "$", "[0]", ".", "é", "a.b", "'", "0", "#"}
)

// value is canonical JSON of a type.
func (w *world) value(t onto.FieldType, depth int) []byte {
	var text []byte
	switch t {
	case onto.Bool:
		return []byte(rapid.SampledFrom([]string{"true", "false"}).Draw(w.T, "bool"))
	case onto.Int:
		for text == nil || codec.KindOf(text) != codec.Int {
			text, _ = codec.AppendCanonical(nil, []byte(rapid.SampledFrom(worldNumbers).Draw(w.T, "int")))
		}
	case onto.Float:
		text, _ = codec.AppendCanonical(nil, []byte(rapid.SampledFrom(worldNumbers).Draw(w.T, "number")))
	case onto.String:
		text, _ = codec.AppendString(nil, rapid.SampledFrom(worldTexts).Draw(w.T, "text"))
	case onto.List:
		var list [][]byte
		for range rapid.IntRange(0, 3).Draw(w.T, "elements") {
			list = append(list, w.value(onto.Any, depth-1))
		}
		return slices.Concat([]byte("["), slices.Concat(join(list)...), []byte("]"))
	case onto.Object:
		var members []codec.Member
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(worldNames), 0, 3, rapid.ID).Draw(w.T, "names") {
			members = append(members, codec.Member{Name: name, Value: w.value(onto.Any, depth-1)})
		}
		slices.SortFunc(members, func(a, b codec.Member) int { return strings.Compare(a.Name, b.Name) })
		return codec.AppendObject(nil, members)
	default:
		kinds := []onto.FieldType{"", onto.Bool, onto.Int, onto.Float, onto.String, onto.List, onto.Object}
		if depth <= 0 {
			kinds = kinds[:5]
		}
		if kind := rapid.SampledFrom(kinds).Draw(w.T, "kind"); kind != "" {
			return w.value(kind, depth)
		}
		return []byte("null")
	}
	return text
}

func join(list [][]byte) [][]byte {
	var all [][]byte
	for i, v := range list {
		if i > 0 {
			all = append(all, []byte(","))
		}
		all = append(all, v)
	}
	return all
}

func (w *world) operand(kind onto.Kind, some bool) onto.Operand {
	var names []string
	for _, f := range worldSchemas()[0].Fields {
		names = append(names, f.Name)
	}
	o := onto.Path(rapid.SampledFrom(append(names, "nope", "nul\x00")).Draw(w.T, "field"))
	if o.Path[0] == "object" || o.Path[0] == "any" || rapid.IntRange(0, 9).Draw(w.T, "deeper") == 0 {
		o.Path = append(o.Path, rapid.SliceOfN(rapid.SampledFrom(worldNames), 0, 2).Draw(w.T, "path")...)
	}
	switch kind {
	case onto.KindFact:
		o.Side = rapid.SampledFrom([]onto.Side{onto.OwnSide, onto.LeftSide}).Draw(w.T, "side")
	case onto.KindRelation:
		o.Side = rapid.SampledFrom([]onto.Side{onto.OwnSide, onto.LeftSide, onto.RightSide}).Draw(w.T, "side")
	}
	if some && (o.Path[0] == "list" || rapid.IntRange(0, 9).Draw(w.T, "any") == 0) {
		o = o.Some(rapid.SliceOfN(rapid.SampledFrom(worldNames), 0, 2).Draw(w.T, "under")...)
	}
	return o
}

func (w *world) scalar() any {
	canonical := w.value(onto.FieldType(rapid.SampledFrom([]onto.FieldType{onto.Bool, onto.Float, onto.String}).Draw(w.T, "kind")), 0)
	v, _ := codec.DecodeObject(slices.Concat([]byte(`{"v":`), canonical, []byte("}")))
	return v["v"]
}

func (w *world) filter(kind onto.Kind, depth int) onto.Filter {
	shape := rapid.IntRange(0, 7).Draw(w.T, "shape")
	if depth <= 0 {
		shape = 7
	}
	switch shape {
	case 0, 1:
		return onto.And(w.filters(kind, depth))
	case 2:
		return onto.Or(w.filters(kind, depth))
	case 3:
		return onto.Not{Of: w.filter(kind, depth-1)}
	case 4:
		o := w.operand(kind, true)
		return onto.Or{o.IsNull(), onto.Condition{Operand: o, Values: []any{w.scalar()},
			Test: rapid.SampledFrom([]onto.Test{onto.Less, onto.AtMost, onto.Greater, onto.AtLeast, onto.Equal}).Draw(w.T, "test")}}
	}
	o := w.operand(kind, true)
	switch test := rapid.SampledFrom([]onto.Test{onto.Equal, onto.NotEqual, onto.Less, onto.AtMost, onto.Greater, onto.AtLeast, onto.In,
		onto.StartsWith, onto.EndsWith, onto.Contains, onto.IsNull, onto.IsNotNull, onto.IsTrue, onto.IsFalse}).Draw(w.T, "test"); test {
	case onto.In:
		var values []any
		for range rapid.IntRange(0, 4).Draw(w.T, "values") {
			values = append(values, w.scalar())
		}
		return o.In(values...)
	case onto.StartsWith, onto.EndsWith, onto.Contains:
		return onto.Condition{Operand: o, Test: test, Values: []any{rapid.SampledFrom(worldTexts).Draw(w.T, "text")}}
	case onto.IsNull, onto.IsNotNull, onto.IsTrue, onto.IsFalse:
		return onto.Condition{Operand: o, Test: test}
	default:
		return onto.Condition{Operand: o, Test: test, Values: []any{w.scalar()}}
	}
}

func (w *world) filters(kind onto.Kind, depth int) []onto.Filter {
	var list []onto.Filter
	for range rapid.IntRange(0, 3).Draw(w.T, "parts") {
		list = append(list, w.filter(kind, depth-1))
	}
	return list
}

// query is a random query, and the plain one that reads all its rows.
func (w *world) query() (q, plain backend.Query) {
	schemas, kind := worldSchemas(), w.kind()
	schema := &schemas[slices.IndexFunc(schemas, func(s onto.Schema) bool { return s.Kind == kind })]
	q = backend.Query{Kind: kind, Type: schema.Name, At: backend.Head}
	if rapid.IntRange(0, 2).Draw(w.T, "past") == 0 {
		q.At = rapid.Int64Range(0, w.head+1).Draw(w.T, "at")
	}
	if rapid.IntRange(0, 3).Draw(w.T, "history") == 0 {
		q.Mode, q.Since = backend.History, rapid.Int64Range(0, 2).Draw(w.T, "since")
	}
	keys := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "zz"}), 1, 3)
	if rapid.IntRange(0, 3).Draw(w.T, "keys") == 0 {
		switch {
		case kind == onto.KindEntity:
			q.Keys = keys.Draw(w.T, "keys")
		case rapid.Bool().Draw(w.T, "left"):
			q.LeftKeys = keys.Draw(w.T, "keys")
		default:
			q.RightKeys = keys.Draw(w.T, "keys")
		}
	}
	plain = q
	if rapid.Bool().Draw(w.T, "schema") {
		q.Schema = schema
		if kind != onto.KindEntity {
			q.Left = &schemas[0]
		}
		if kind == onto.KindRelation {
			q.Right = &schemas[0]
		}
	}
	if rapid.IntRange(0, 4).Draw(w.T, "search") == 0 {
		q.Search = words.Query(rapid.SampledFrom([]string{"a", "a*", "A b", "b* a", "drop table", "1", "日*", "null or", "", "not a"}).Draw(w.T, "words"))
	}
	if rapid.IntRange(0, 4).Draw(w.T, "where") > 0 {
		q.Where = w.filter(kind, 3)
	}
	return q, plain
}

func (w *world) askQuery() {
	q, plain := w.query()
	for range rapid.IntRange(0, 3).Draw(w.T, "orders") {
		q.Order = append(q.Order, onto.Order{Operand: w.operand(q.Kind, false), Desc: rapid.Bool().Draw(w.T, "desc")})
	}
	q.Limit = rapid.IntRange(0, 5).Draw(w.T, "limit")
	q.Offset = rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(w.T, "offset")
	all := q
	all.Limit, all.Offset = 0, 0
	if whole := w.versions(exec.Select(&all, w.b.Scan(w.Context(), &plain), w.endpoints(&q))); len(whole) > 0 && rapid.Bool().Draw(w.T, "after") {
		v := whole[rapid.IntRange(0, len(whole)-1).Draw(w.T, "place")]
		p, err := exec.PlaceOf(&q, &v, w.endpoints(&q))
		if err != nil {
			w.Fatal(err)
		}
		q.After = &p
	}
	got := w.versions(w.b.Scan(w.Context(), &q))
	want := w.versions(exec.Select(&q, w.b.Scan(w.Context(), &plain), w.endpoints(&q)))
	if fmt.Sprint(got) != fmt.Sprint(want) {
		w.Fatalf("%s\n got: %v\nwant: %v", w.explain(&q, nil), got, want)
	}
}

func (w *world) askGroups() {
	q, plain := w.query()
	a := backend.Aggregation{Query: q}
	for range rapid.IntRange(0, 2).Draw(w.T, "by") {
		a.By = append(a.By, w.grouped(q.Kind))
	}
	for range rapid.IntRange(0, 4).Draw(w.T, "compute") {
		o := w.operand(q.Kind, false)
		o.Func = rapid.SampledFrom([]onto.Func{onto.FuncCount, onto.FuncSum, onto.FuncAvg, onto.FuncMin, onto.FuncMax, onto.FuncAvgLen, onto.FuncCountDistinct}).Draw(w.T, "func")
		if o.Func == onto.FuncCountDistinct {
			o = w.grouped(q.Kind).CountDistinct()
		}
		if o.Func == onto.FuncCount {
			o = onto.Count()
		}
		a.Compute = append(a.Compute, o)
	}
	got := w.groups(w.b.Aggregate(w.Context(), &a))
	want := w.groups(exec.Aggregate(&a, w.b.Scan(w.Context(), &plain), w.endpoints(&q)))
	if got != want {
		w.Fatalf("%s\n got: %v\nwant: %v", w.explain(nil, &a), got, want)
	}
}

// grouped draws what to group by, now and then the period of it.
func (w *world) grouped(kind onto.Kind) onto.Operand {
	o := w.operand(kind, false)
	if rapid.IntRange(0, 3).Draw(w.T, "period") == 0 {
		o.Per = rapid.SampledFrom(onto.Periods()).Draw(w.T, "of")
	}
	return o
}

func (w *world) versions(seq iter.Seq2[onto.Version, error]) []onto.Version {
	var list []onto.Version
	for v, err := range seq {
		if err != nil {
			w.Fatal(err)
		}
		list = append(list, v)
	}
	return list
}

// groups formats groups and their error.
func (w *world) groups(seq iter.Seq2[onto.Group, error]) string {
	var text strings.Builder
	for g, err := range seq {
		if err != nil {
			return fmt.Sprint(err, onto.HintOf(err)) // groups before it may have been yielded or not
		}
		fmt.Fprintf(&text, "%s: %s\n", g.By, g.Values)
	}
	return text.String()
}

// endpoints reads the ends of a relation or the subject of a fact one by one.
func (w *world) endpoints(q *backend.Query) exec.Endpoints {
	return func(v *onto.Version) (left, right json.RawMessage, err error) {
		at := q.At
		if q.Mode == backend.History {
			at = v.Commit
		}
		fields := func(key string) json.RawMessage {
			v, err := w.b.Get(w.Context(), onto.EntityID("Thing", key), at)
			if err != nil || !v.Live() {
				return nil
			}
			return v.Fields
		}
		if v.Kind == onto.KindFact {
			return fields(v.Left), nil, nil
		}
		return fields(v.Left), fields(v.Right), nil
	}
}

func (w *world) explain(q *backend.Query, a *backend.Aggregation) string {
	e, err := w.b.Explain(w.Context(), q, a)
	return fmt.Sprintf("%+v %+v\n%s\n%s\n%s (%v)", q, a, e.Statement, strings.Join(e.Plan, "\n"), e.Process, err)
}
