package source_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/store"
)

// add keeps the answer to a question, unless the schema does not allow the question.
func (a *asker) add(got []string, format string, args ...any) {
	if slices.Equal(got, []string{"! invalid"}) {
		return
	}
	a.got.Answers = append(a.got.Answers, answer{fmt.Sprintf(format, args...), got})
}

// generated asks about each type what its schema makes possible, as of a commit.
func (a *asker) generated(at int64) {
	v := a.s.At(at)
	types, err := v.Types(a.ctx)
	if err != nil {
		a.add([]string{failed(err)}, "types at %d", at)
	}
	for _, t := range types {
		find := func() store.Query[onto.Version] { return v.FindKind(t.Kind, t.Name) }
		name := fmt.Sprintf("%s at %d", t.TypeName(), at)
		a.add(one(find().Count(a.ctx)), "%s: count", name)
		a.add(a.pages(find().Limit(2)), "%s: pages", name)
		a.add(a.keys(find().Offset(1).Limit(3)), "%s: three after one", name)
		for _, f := range t.Fields {
			a.field(find, name, &f)
		}
		switch t.Kind {
		case onto.KindEntity:
			a.traversed(find, name, t.Name, types)
		case onto.KindRelation:
			a.endpoints(find, name, &t, types)
		}
	}
}

// keys is the identities that a question finds, in their order.
func (a *asker) keys(q store.Query[onto.Version]) []string { return words(q.All(a.ctx)) }

// words is identities with their commits, as one line.
func words(seq iter.Seq2[onto.Version, error]) []string {
	return []string{strings.Join(collect(seq, func(v onto.Version) string { return fmt.Sprintf("%s@%d", short(v), v.Commit) }), " ")}
}

// pages is a question's pages.
func (a *asker) pages(q store.Query[onto.Version]) []string {
	var list []string
	for {
		p, err := q.Page(a.ctx)
		if err != nil {
			return append(list, failed(err))
		}
		var page []string
		for _, v := range p.Items {
			page = append(page, short(v))
		}
		if list = append(list, strings.Join(page, " ")); p.Next == "" {
			return []string{strings.Join(list, " | ")}
		}
		q = q.After(p.Next)
	}
}

// field asks about one field: groups, orders, filters, aggregates and words.
func (a *asker) field(find func() store.Query[onto.Version], name string, f *onto.Field) {
	o := onto.Path(f.Name)
	var values []json.RawMessage
	groups := collect(find().GroupBy(o).Compute(onto.Count()).All(a.ctx), func(g onto.Group) string {
		if g.By[0] != nil {
			values = append(values, g.By[0])
		}
		return fmt.Sprintf("%s: %s", g.By[0], g.Values[0])
	})
	a.add(groups, "%s: groups by %s", name, f.Name)
	a.add(a.keys(find().OrderBy(o.Desc())), "%s: by %s, descending", name, f.Name)
	a.add(a.keys(find().Where(o.IsNull())), "%s: without %s", name, f.Name)
	if len(values) > 0 {
		a.value(find, name, f, values[len(values)/2])
	}
	if f.Type == onto.Int || f.Type == onto.Float {
		for _, by := range []onto.Operand{o.Sum(), o.Avg()} {
			g, err := find().Compute(a.ctx, by)
			a.add(one(rounded(g), err), "%s: %s", name, filter.FormatOperand(by))
		}
	}
	g, err := find().Compute(a.ctx, o.Min(), o.Max(), o.CountDistinct())
	a.add(one(groupText(g), err), "%s: least, greatest and number of %s", name, f.Name)
}

func groupText(g onto.Group) string { return fmt.Sprintf("%s", g.Values) }

// rounded is a group without the last digits of floats, which depend on the order in which
// they were added.
func rounded(g onto.Group) string {
	for i, v := range g.Values {
		if f, err := strconv.ParseFloat(string(v), 64); err == nil && strings.ContainsAny(string(v), ".e") {
			g.Values[i] = json.RawMessage(strconv.FormatFloat(f, 'g', 12, 64))
		}
	}
	return groupText(g)
}

// value asks for what has a value, and for what compares with it.
func (a *asker) value(find func() store.Query[onto.Version], name string, f *onto.Field, text json.RawMessage) {
	o := onto.Path(f.Name)
	var value any
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		a.t.Fatal(err)
	}
	if n, ok := value.(json.Number); ok {
		value = number(n)
	}
	switch value.(type) {
	case []any, map[string]any:
		return
	}
	filters := []onto.Filter{o.Eq(value), onto.Not{Of: o.Eq(value)}, onto.Or{o.IsNull(), o.Gt(value)}, o.Le(value)}
	if s, ok := value.(string); ok {
		_, size := utf8.DecodeRuneInString(s)
		filters = append(filters, o.StartsWith(s[:size]), o.Contains(s[len(s)-min(len(s), 1):]))
		if word := strings.Fields(s); len(word) > 0 && f.Search {
			a.add(a.keys(find().Search(word[0])), "%s: search %q", name, word[0])
		}
	}
	for _, by := range filters {
		a.add(a.keys(find().Where(by)), "%s: where %s", name, filter.Format(by))
	}
}

func number(n json.Number) any {
	if i, err := n.Int64(); err == nil {
		return i
	}
	f, _ := n.Float64() // canonical JSON has no other numbers
	return f
}

// endpoints asks for relations by their ends.
func (a *asker) endpoints(find func() store.Query[onto.Version], name string, t *onto.Schema, types []onto.Schema) {
	for _, end := range []struct {
		name, typ string
		of        func(...string) onto.Operand
		only      func(store.Query[onto.Version], ...string) store.Query[onto.Version]
		key       func(onto.Version) string
	}{
		{"left", t.Left, onto.Left, store.Query[onto.Version].From, func(v onto.Version) string { return v.Left }},
		{"right", t.Right, onto.Right, store.Query[onto.Version].To, func(v onto.Version) string { return v.Right }},
	} {
		if v, ok, err := find().First(a.ctx); err == nil && ok {
			a.add(a.keys(end.only(find(), end.key(v))), "%s: %s of the first", name, end.name)
		}
		i := slices.IndexFunc(types, func(s onto.Schema) bool { return s.Kind == onto.KindEntity && s.Name == end.typ })
		if i < 0 {
			continue
		}
		for _, f := range types[i].Fields {
			a.add(a.keys(find().Where(end.of(f.Name).IsNull())), "%s: where %s has no %s", name, end.name, f.Name)
		}
	}
}

// traversed asks for the routes from a type over each relation that has it at an end.
func (a *asker) traversed(find func() store.Query[onto.Version], name, typ string, types []onto.Schema) {
	for _, r := range types {
		if r.Kind != onto.KindRelation {
			continue
		}
		for _, way := range []struct {
			hop store.Hop
			end string
			way string
		}{{store.Via(r.Name), r.Left, "via"}, {store.Back(r.Name), r.Right, "back by"}} {
			if way.end != typ {
				continue
			}
			a.add(collect(find().Traverse(way.hop).All(a.ctx), func(r store.Route) string {
				text := short(r.Source)
				for _, step := range r.Path {
					text += fmt.Sprintf(" -%s-> %s@%d", short(step.Relation), short(step.Entity), step.Entity.Commit)
				}
				return text
			}), "%s: %s %s", name, way.way, r.Name)
		}
	}
}

// facts asks what facts say at the bounds of their times, and during.
func (a *asker) facts() {
	for _, t := range a.s.Types() {
		if t.Kind != onto.KindFact {
			continue
		}
		bounds := a.bounds(t.Name)
		for _, c := range a.few() {
			v := a.s.At(c)
			for _, at := range bounds {
				a.add(told(v.ValidAt(at).Facts(t.Name).All(a.ctx)), "facts of %s at %d, valid at %s", t.Name, c, at.Format(time.RFC3339))
			}
			if len(bounds) > 1 {
				from, until := bounds[0], bounds[len(bounds)/2]
				a.add(told(v.Facts(t.Name).During(from, until).All(a.ctx)), "facts of %s at %d, during the first half", t.Name, c)
			}
			a.add(told(v.Facts(t.Name).Every().All(a.ctx)), "every fact of %s at %d", t.Name, c)
			a.add(collect(v.Facts(t.Name).Gaps().Timeline(a.ctx), func(s store.Segment) string {
				return fmt.Sprintf("%s.%s %s to %s: %v (%s)", s.Subject, s.Attribute, day(s.From), day(s.Until), s.Fact.Value, s.Fact.ID)
			}), "timeline of %s at %d", t.Name, c)
		}
	}
}

func day(t time.Time) string {
	if t.IsZero() {
		return "ever"
	}
	return t.Format(time.DateOnly)
}

// told is facts as text.
func told(seq iter.Seq2[onto.Fact, error]) []string {
	return collect(seq, func(f onto.Fact) string {
		return fmt.Sprintf("%s.%s=%v (%s %s) %s to %s, by %d.%d, newest %d, revoked %v", f.Subject, f.Attribute, f.Value, f.ID, f.Kind, day(f.From), day(f.Until), f.Asserted, f.Seq, f.Commit, f.Revoked)
	})
}

// bounds are the times at which facts begin or end, and one before all.
func (a *asker) bounds(typ string) []time.Time {
	list := []time.Time{time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)}
	for f, err := range a.s.Now().Facts(typ).Every().All(a.ctx) {
		if err != nil {
			return list
		}
		for _, at := range []time.Time{f.From, f.Until} {
			if !at.IsZero() {
				list = append(list, at)
			}
		}
	}
	slices.SortFunc(list, time.Time.Compare)
	return slices.CompactFunc(list, time.Time.Equal)
}

// question is a chosen question about the files of some scripts.
type question struct {
	kind             onto.Kind
	typ              string
	where, order, of string // filter, order, and aggregate by; each may be empty
	since            int64  // of versions after this commit; -1 for the state
}

// chosen asks a question as of each of a few moments.
func (a *asker) chosen(q *question) {
	where, err := filter.Parse(q.where)
	if q.where != "" && err != nil {
		a.t.Fatal(err)
	}
	for _, c := range a.few() {
		find := a.s.At(c).FindKind(q.kind, q.typ)
		if q.where != "" {
			find = find.Where(where)
		}
		if q.order != "" {
			order, err := filter.ParseOrder(q.order)
			if err != nil {
				a.t.Fatal(err)
			}
			find = find.OrderBy(order)
		}
		name := strings.Join(strings.Fields(fmt.Sprintf("%s at %d where %s by %s %s", q.typ, c, q.where, q.order, q.of)), " ")
		switch {
		case q.of != "":
			o, err := filter.ParseOperand(q.of)
			if err != nil {
				a.t.Fatal(err)
			}
			g, err := find.Compute(a.ctx, o)
			a.add(one(rounded(g), err), "%s", name)
		case q.since >= 0:
			a.add(collect(find.Versions(a.ctx, q.since), func(e store.Versioned[onto.Version]) string { return full(e.Version) }), "%s, versions since %d", name, q.since)
		default:
			a.add(a.keys(find), "%s", name)
		}
	}
}

// questionsOf are the chosen questions about the file of a script.
func questionsOf(name string) []question {
	entity := func(typ string, filters ...string) (list []question) {
		for _, f := range filters {
			where, rest, _ := strings.Cut(f, " ; ")
			order, of, _ := strings.Cut(rest, " ; ")
			list = append(list, question{onto.KindEntity, typ, where, order, of, -1})
		}
		return list
	}
	relation := func(typ string, filters ...string) []question {
		list := entity(typ, filters...)
		for i := range list {
			list[i].kind = onto.KindRelation
		}
		return list
	}
	switch {
	case name == "plain" || name == "oldest":
		return slices.Concat(entity("Customer", `$.name == "Adé"`, `$.age == 40`, `$.age.is_null()`, `$.age < 50`, `$.tags.any() == "x"`, `$.id == "c2"`, `$.age > 39 ; $.age:desc`, ` ;  ; sum:$.age`),
			relation("Likes", `left.$.age == 37 & right.$.name == "Bo"`, `left.$.tags.any() == "x"`),
			[]question{{onto.KindEntity, "Customer", `$.name == "Adé"`, "", "", 0}})
	case strings.HasPrefix(name, "original-") || strings.HasPrefix(name, "adopted-"):
		return slices.Concat(entity("Customer", `$.age > 25`, `$.age > 39`, `$.age == 25 & $.profile.city == "SF"`, `$.nick.is_null()`, `$.tags.any() == "ÿ"`, `$.profile.n.deep >= 10 ; $.age:desc`, `$.name.startswith("Kündin 1")`, ` ;  ; sum:$.balance`),
			entity("Odd", `$.value.is_not_null()`, `$.value.v == 1`), entity("Ratio", `$.id > 1`, `$.note == "half"`, `$.id == 1`), entity("Product", `$.price > 10 ; $.price`),
			relation("Subscription", `left.$.age > 25`, `right.$.price < 10 & $.seats > 2`, `$.seats >= 4 ; left.$.age:desc`), relation("Stint", `$.role == "dev"`, `right.$.sku == "p1"`),
			[]question{{onto.KindEntity, "Customer", `$.age > 25`, "", "", 2}, {onto.KindRelation, "Subscription", "", "", "", 3}})
	case name == "disobedient":
		return entity("Person", `$.age > 1`, `$.age < 50`, `$.age == 1`, `$.age.in_([1, 37])`, `$.age != 37`, `$.name.startswith("")`, ` ; $.age`, ` ;  ; sum:$.age`, ` ;  ; min:$.age`, ` ;  ; max:$.age`)
	case name == "unreadable":
		return slices.Concat(entity("Person", `$.age == 37`, `$.age.is_null()`, ` ; $.age:desc`, `$.id != "c1" ; $.name`, `$.age > 1`, ` ;  ; count`),
			relation("Knows", `right.$.age == 37`, `left.$.age == 37`, `left.$.id.is_null()`, `left.$.id == "c1" & right.$.id.is_null()`))
	case strings.HasPrefix(name, "format"):
		return slices.Concat(entity("Customer", `$.tier == "Gold"`, `$.tags.any() == "t1"`, `$.profile.city == "Köln" ; $.age:desc`, `$.note.is_not_null()`, `$.joined < "2025-01-04T00:00:00Z"`, `$.score >= 3 ; $.score`, ` ;  ; avg:$.age`),
			relation("Bought", `left.$.tier == "Silver"`, `right.$.title.contains("lamp") ; right.$.price:desc`, `left.$.id.is_null()`), relation("Stint", `$.role.contains("tester")`, `$.pay > 10`))
	}
	return nil
}
