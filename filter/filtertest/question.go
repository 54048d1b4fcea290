package filtertest

import (
	"slices"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/internal/codec"
)

// question is a random question: for versions, or for groups.
type question struct {
	query  backend.Query
	groups *backend.Aggregation // nil for versions
}

// inquirer draws questions about what a ledger holds.
type inquirer struct {
	*rapid.T
	ledger *ledger
	schema *onto.Schema
	scope  *filter.Scope
}

func newInquirer(t *rapid.T, l *ledger) *inquirer {
	return &inquirer{T: t, ledger: l}
}

// one draws one of some values.
func one[T any](in *inquirer, label string, values ...T) T {
	return rapid.SampledFrom(values).Draw(in.T, label)
}

// chance is true so many times in ten.
func (in *inquirer) chance(label string, times int) bool {
	return rapid.IntRange(0, 9).Draw(in.T, label) >= 10-times
}

// question draws a question.
func (in *inquirer) question() question {
	l := in.ledger
	in.schema = one(in, "type", l.schemas...)
	s := in.schema
	in.scope = &filter.Scope{Schema: s}
	in.scope.Left, in.scope.Right = l.schema(onto.KindEntity, s.Left), l.schema(onto.KindEntity, s.Right) // nil for none
	q := backend.Query{Kind: s.Kind, Type: s.Name, Schema: in.known(s), Left: in.scope.Left, Right: in.scope.Right}
	in.view(&q)
	in.narrow(&q)
	if in.chance("groups", 3) {
		return question{query: q, groups: in.aggregation(q)}
	}
	for range one(in, "orders", 0, 1, 2, 1) {
		o := onto.Order{Operand: in.operand(false), Desc: rapid.Bool().Draw(in.T, "desc")}
		q.Order = append(q.Order, o)
	}
	in.page(&q)
	return question{query: q}
}

// known returns a schema as a program may know it: now and then with other indexes than
// stored.
func (in *inquirer) known(s *onto.Schema) *onto.Schema {
	if !in.chance("other indexes", 1) {
		return s
	}
	other := *s
	other.Fields = slices.Clone(s.Fields)
	for i := range other.Fields {
		other.Fields[i].Index = !other.Fields[i].Index
	}
	return &other
}

// view draws the moment and the mode.
func (in *inquirer) view(q *backend.Query) {
	q.At = backend.Head
	if in.chance("older", 4) {
		q.At = rapid.Int64Range(0, in.ledger.head+1).Draw(in.T, "at")
	}
	if !in.chance("history", 3) {
		return
	}
	q.Mode = backend.History
	q.Since = rapid.Int64Range(0, in.ledger.head).Draw(in.T, "since")
	if in.chance("since the beginning", 5) {
		q.Since = 0
	}
	if in.chance("of one", 1) {
		id := drawIdentity(in.T, in.schema)
		q.Identity = &id
	}
}

// narrow draws keys, words and a filter.
func (in *inquirer) narrow(q *backend.Query) {
	some := func(label string) []string {
		if !in.chance(label, 2) {
			return nil
		}
		list := rapid.SliceOfN(rapid.SampledFrom(keys()), 0, 6).Draw(in.T, label)
		return append([]string{}, list...)
	}
	if q.Kind == onto.KindEntity {
		q.Keys = some("keys")
	} else {
		q.LeftKeys, q.RightKeys = some("left keys"), some("right keys")
	}
	if in.chance("search", 1) {
		q.Search = []backend.Word{one(in, "word", backend.Word{Text: "ada"}, backend.Word{Text: "a"}, backend.Word{Text: "lamp", Prefix: true},
			backend.Word{Text: "lamp"}, backend.Word{Text: "100"}, backend.Word{Text: "e"}, backend.Word{Text: "a", Prefix: true}, backend.Word{Text: "2026", Prefix: true})}
		if in.chance("two words", 3) {
			q.Search = append(q.Search, backend.Word{Text: "lovelace"})
		}
	}
	if !in.chance("where", 7) {
		return
	}
	text := filter.Format(in.filter(2))
	f, err := filter.Parse(text)
	if err == nil {
		f, err = filter.Check(f, in.scope)
	}
	if err != nil {
		in.Fatalf("%s: %v", text, err)
	}
	q.Where = f
	if in.chance("without a schema", 1) && len(q.Search) == 0 {
		q.Schema = nil
	}
}

// page draws which part of an answer is wanted.
func (in *inquirer) page(q *backend.Query) {
	if in.chance("offset", 1) {
		q.Offset = one(in, "offset", 1, 2, 5)
	}
	if in.chance("limit", 4) {
		q.Limit = one(in, "limit", 1, 2, 3, 10)
	}
	whole := backend.Query{Kind: q.Kind, Type: q.Type, Mode: q.Mode, At: q.At, Order: q.Order}
	versions := in.ledger.answer(&whole)
	if len(versions) == 0 || !in.chance("after", 3) {
		return
	}
	q.After = in.ledger.place(&whole, one(in, "after", versions...))
	for i, o := range q.Order {
		if in.typeOf(o.Operand) == onto.Any && in.chance("elsewhere", 1) {
			q.After.Values[i], _ = codec.AppendCanonical(nil, []byte(drawScalar(in.T)))
		}
	}
	if in.chance("another place", 1) {
		q.After.Identity = drawIdentity(in.T, in.schema)
	}
}

// aggregation draws what to group by and to compute.
func (in *inquirer) aggregation(q backend.Query) *backend.Aggregation {
	a := &backend.Aggregation{Query: q}
	for range one(in, "by", 0, 1, 1, 2) {
		a.By = append(a.By, in.grouped())
	}
	for range one(in, "compute", 1, 2, 3) {
		o := in.operand(false)
		o.Func = one(in, "aggregate", onto.FuncCount, onto.FuncSum, onto.FuncAvg, onto.FuncMin, onto.FuncMax, onto.FuncAvgLen, onto.FuncSum, onto.FuncCountDistinct, onto.FuncCountDistinct)
		if o.Func == onto.FuncCountDistinct {
			o = in.grouped().CountDistinct()
		}
		if o.Func == onto.FuncCount {
			o = onto.Count()
		}
		per := o.Per
		o.Per = ""
		checked, err := filter.CheckOperand(o, in.scope)
		if err != nil { // not for this type of field
			checked, per = onto.Count(), ""
		}
		checked.Per = per
		a.Compute = append(a.Compute, checked)
	}
	return a
}

// grouped draws what to group by or to count. Periods are those of times mostly, and
// now and then of what is none, which a check would refuse: it has no period.
func (in *inquirer) grouped() onto.Operand {
	o := in.operand(false)
	if t := in.typeOf(o); (t == onto.Time || t == onto.DateOnly) && in.chance("period", 8) || in.chance("period of anything", 1) {
		o.Per = one(in, "period", onto.Periods()...)
	}
	return o
}

// operand draws a path, with any if wanted. Mostly it leads to something that
// some row has.
func (in *inquirer) operand(some bool) onto.Operand {
	side, schema := onto.OwnSide, in.schema
	if in.scope.Left != nil && in.chance("endpoint", 4) {
		side, schema = onto.LeftSide, in.scope.Left
		if in.scope.Right != nil && rapid.Bool().Draw(in.T, "right") {
			side, schema = onto.RightSide, in.scope.Right
		}
	}
	f := one(in, "field", schema.Fields...)
	o := onto.Operand{Side: side, Path: []string{f.Name}}
	if f.Fields != nil || f.Values != nil || f.Items != nil {
		return in.inside(o, &f, some)
	}
	found := codec.Find(in.example(schema).Fields, o.Path)
	if f.Type == onto.Any || f.Type == onto.Object {
		names, at := in.walk(found, one(in, "depth", 0, 0, 1, 1, 2))
		o.Path, found = append(o.Path, names...), at
	}
	inside := f.Type == onto.Any || f.Type == onto.Object && len(o.Path) > 1 || f.Type == onto.List
	list := len(found) > 0 && found[0] == '['
	if !some || !inside || !in.chance("any", 4) && !list {
		return o
	}
	o.Any = true
	var element []byte
	if list {
		for e := range codec.Elements(found) {
			element = e
		}
	}
	o.Under, _ = in.walk(element, one(in, "under", 0, 0, 1, 1, 2))
	return o
}

// inside draws a path into a field of which is declared what it has inside.
func (in *inquirer) inside(o onto.Operand, f *onto.Field, some bool) onto.Operand {
	into := func() string {
		if f.Values != nil {
			f = f.Values
			return one(in, "name", names()...)
		}
		f = &f.Fields[rapid.IntRange(0, len(f.Fields)-1).Draw(in.T, "inner")]
		return f.Name
	}
	for (f.Values != nil || len(f.Fields) > 0) && in.chance("deeper", 8) {
		o.Path = append(o.Path, into())
	}
	if f.Items == nil || !some {
		return o
	}
	o.Any, f = true, f.Items
	for (f.Values != nil || len(f.Fields) > 0) && in.chance("under", 8) {
		o.Under = append(o.Under, into())
	}
	return o
}

// example draws a version of a type, the zero one if there is none.
func (in *inquirer) example(s *onto.Schema) onto.Version {
	var list []onto.Version
	for _, v := range in.ledger.versions {
		if v.TypeName() == s.TypeName() && v.Live() {
			list = append(list, v)
		}
	}
	if len(list) == 0 {
		return onto.Version{Fields: []byte("{}")}
	}
	return one(in, "example", list...)
}

// walk draws names that lead into a value, and returns where they lead.
func (in *inquirer) walk(value []byte, depth int) ([]string, []byte) {
	var path []string
	for range depth {
		choice := names()
		if len(value) > 2 && value[0] == '{' && in.chance("there", 8) {
			choice = nil
			for _, m := range codec.Members(value) {
				choice = append(choice, m.Name)
			}
		}
		name := one(in, "name", choice...)
		path = append(path, name)
		value = codec.Find(value, path[len(path)-1:])
	}
	return path, value
}

// seen returns the scalars that an operand leads to, in any row.
func (in *inquirer) seen(o onto.Operand) []any {
	var list []any
	add := func(v []byte) {
		if len(v) > 0 {
			switch v[0] {
			case 'n', '[', '{':
			default:
				list = append(list, scalar(string(v)))
			}
		}
	}
	for _, v := range in.ledger.versions {
		found := codec.Find(v.Fields, o.Path)
		switch {
		case !o.Any:
			add(found)
		case len(found) > 0 && found[0] == '[':
			for e := range codec.Elements(found) {
				add(codec.Find(e, o.Under))
			}
		}
	}
	return list
}
