package object_test

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/object"
)

// A clause that does not fit the type of the set is refused by every operation before a shard
// is asked, or even opened.
func TestWrongClauses(t *testing.T) {
	w := &watch{}
	v, err := object.Open(t.Context(), object.Config{"chat": {"acme": {"memory://", "memory://"}}}, w.openers()...)
	must(t, err)
	defer v.Close()
	acme, chats := messagesOf(v).Tenant("acme"), object.NewSet[Chat](v, "chat").Ready().Tenant("acme")
	where := object.Where
	for name, wrong := range map[string]object.Clause{
		"no such field":       where().Key("nobody").Equal(1),
		"a misspelled field":  where().Key("sendr").Equal("ana"),
		"no such inner field": where().Key("place.nobody").Equal(1),
		"below a text":        where().Key("sender.name").Equal("ana"),
		"no path":             where().Key("").Equal("ana"),
		"an expression":       where().Key("sender == 1 &").Equal("ana"),
		"a function":          where().Key("sender.length()").Equal(3),
		"a computed field":    where().Key("onto_nothing").Equal("x"),
		"a text for a number": where().Key("sent").Equal("Monday"),
		"a number for a text": where().Key("sender").Equal(3),
		"not equal":           where().Key("sent").NotEqual("Monday"),
		"less":                where().Key("sent").LessThan("Monday"),
		"at most":             where().Key("sent").LessThanOrEqual("Monday"),
		"greater":             where().Key("sent").GreaterThan("Monday"),
		"at least":            where().Key("sent").GreaterThanOrEqual("Monday"),
		"in":                  where().Key("sent").In(1, "Monday"),
		"not in":              where().Key("sent").NotIn(1, "Monday"),
		"contains":            where().Key("sent").Contains("1"),
		"starts":              where().Key("sent").StartsWith("1"),
		"ends":                where().Key("sent").EndsWith("1"),
		"a value of no kind":  where().Key("sender").Equal(func() {}),
		"nil":                 where().Key("sender").Equal(nil),
		"the second of two":   where().Key("sender").Equal("ana").And().Key("sent").Equal("Monday"),
		"an alternative":      where().Key("sender").Equal("ana").Or().Key("sent").Equal("Monday"),
		"a later one":         where().Key("sender").Equal("ana").Or().Key("sent").Equal(1).And().Key("nobody").IsNull(),
		"after the search":    where().Search("hello").And().Key("nobody").IsNotNull(),
		"no words":            where().Search(" "),
		"no further words":    where().Search("hello").And().Search(""),
		"no filter":           where().Filter(nil),
		"a wrong filter":      where().Filter(onto.Path("nobody").Eq(1)),
		"an end of relations": where().Filter(onto.Left("name").Eq("x")),
		"order":               object.All().OrderBy("nobody"),
		"the second order":    object.All().OrderBy("sent").OrderByDesc("place.nobody"),
		"order by nothing":    object.All().OrderByDesc(""),
		"limit":               object.All().Limit(-1),
		"limit per shard":     object.All().LimitPerShard(-1),
		"offset":              object.All().Offset(-1),
		"offset and cursor":   object.All().Offset(1).Cursor("x"),
		"a damaged cursor":    object.All().Cursor("x"),
	} {
		refuses(t, name, acme, wrong)
	}
	_, err = chats.Select(t.Context(), where().Search("hello"))
	wantCode(t, err, onto.Invalid)
	if hint := onto.HintOf(err).String(); !strings.Contains(hint, "WithTextSearch") {
		t.Errorf("searching a set without search: the hint is %q", hint)
	}
	_, err = acme.SelectAll(t.Context(), "c1", "")
	wantCode(t, err, onto.Invalid)
	_, err = acme.DeleteWhere(t.Context(), object.All().Limit(1))
	wantCode(t, err, onto.Invalid)
	if n := w.calls.Load(); n > 0 {
		t.Errorf("the backends were called %d times for clauses that were refused", n)
	}
	_, err = acme.Select(t.Context(), where().Key("sendr").Equal("ana"))
	if text := err.Error() + onto.HintOf(err).String(); !strings.Contains(text, "sendr") || !strings.Contains(text, "sender") {
		t.Errorf("a misspelled field: got %q", text)
	}
}

// refuses checks that all operations with a clause refuse it.
func refuses(t *testing.T, name string, acme messageTenant, wrong object.Clause) {
	t.Helper()
	ctx := t.Context()
	_, err := acme.Select(ctx, wrong)
	check := func(operation string, err error) {
		if onto.CodeOf(err) != onto.Invalid {
			t.Errorf("%s, %s: got %v", name, operation, err)
		}
	}
	check("Select", err)
	_, err = acme.SelectWithMetadata(ctx, wrong)
	check("SelectWithMetadata", err)
	_, err = acme.Count(ctx, wrong)
	check("Count", err)
	_, err = acme.Page(ctx, wrong)
	check("Page", err)
	_, err = acme.PageWithMetadata(ctx, wrong)
	check("PageWithMetadata", err)
	_, err = acme.Process(ctx, wrong, func(context.Context, Message) error { return nil })
	check("Process", err)
	for _, err := range acme.Each(ctx, wrong) {
		check("Each", err)
	}
	_, err = acme.DeleteWhere(ctx, wrong)
	check("DeleteWhere", err)
}

// A clause is a value: what is made of it later does not change it.
func TestClausesAreValues(t *testing.T) {
	v := open(t, object.Config{"chat": {"acme": {"memory://"}}})
	must(t, v.Init(t.Context(), "chat", "acme"))
	acme := messagesOf(v).Tenant("acme")
	insert(t, acme, 30)
	count := func(c object.Clause) int {
		t.Helper()
		list, err := acme.Select(t.Context(), c)
		must(t, err)
		return len(list)
	}
	ana := object.Where().Key("sender").Equal("ana")
	odd := ana.And().Key("place.city").Equal("Rome")
	even := ana.And().Key("place.city").Equal("Oslo")
	either := ana.Or().Key("sender").Equal("bob")
	one, two := either.And().Key("sent").Equal(1), either.And().Key("sent").Equal(4)
	first, last := ana.OrderBy("sent").Limit(3), ana.OrderBy("sent").OrderByDesc("id").Limit(4)
	for name, c := range map[string]struct {
		clause object.Clause
		want   int
	}{
		"ana": {ana, 10}, "odd": {odd, 5}, "even": {even, 5}, "either": {either, 20},
		"one": {one, 11}, "two": {two, 11}, "first": {first, 3}, "last": {last, 4},
	} {
		if n := count(c.clause); n != c.want {
			t.Errorf("%s: got %d objects, want %d", name, n, c.want)
		}
	}
}

// The states of a clause are types: what makes no sense does not compile.
func TestStatesOfAClause(t *testing.T) {
	clause := reflect.TypeFor[object.Clause]()
	for _, c := range []struct {
		state           reflect.Type
		complete        bool
		has, lacks      string
		andHas, andLack string // what follows And
	}{
		{reflect.TypeFor[object.Start](), false, "Key Filter Search", "And Or Limit OrderBy Cursor", "", ""},
		{reflect.TypeFor[object.Operator[object.Condition]](), false, "Equal In IsNull", "And Or Key Search Limit", "", ""},
		{reflect.TypeFor[object.Condition](), true, "And Or Limit OrderBy Cursor", "Key Search Equal", "Key Search", ""},
		{reflect.TypeFor[object.Either](), true, "And Or Limit OrderBy Cursor", "Key Search Equal", "Key Filter", "Search"},
		{reflect.TypeFor[object.NextEither](), false, "Key Filter", "Search And Or Limit", "", ""},
		{reflect.TypeFor[object.Search](), true, "And Limit OrderBy Cursor", "Or Key Search", "Key Search", ""},
		{reflect.TypeFor[object.NextSearch](), false, "Key Filter Search", "And Or Limit", "", ""},
		{reflect.TypeFor[object.Selection](), true, "OrderBy OrderByDesc Limit LimitPerShard Offset Cursor", "And Or Key Search", "", ""},
	} {
		if c.state.Implements(clause) != c.complete {
			t.Errorf("%v is a clause: %t", c.state, !c.complete)
		}
		methods(t, c.state, c.has, c.lacks)
		if and, ok := c.state.MethodByName("And"); ok {
			methods(t, and.Type.Out(0), c.andHas, c.andLack)
		}
	}
	for _, state := range []reflect.Type{reflect.TypeFor[object.NextSearch](), reflect.TypeFor[object.NextEither]()} {
		key, _ := state.MethodByName("Key")
		equal, _ := key.Type.Out(0).MethodByName("Equal")
		want := map[string]reflect.Type{"NextSearch": reflect.TypeFor[object.Search](), "NextEither": reflect.TypeFor[object.Either]()}[state.Name()]
		if got := equal.Type.Out(0); got != want {
			t.Errorf("after %v and a condition comes %v, want %v", state, got, want)
		}
	}
}

func methods(t *testing.T, state reflect.Type, has, lacks string) {
	t.Helper()
	for _, name := range strings.Fields(has) {
		if _, ok := state.MethodByName(name); !ok {
			t.Errorf("%v has no %s", state, name)
		}
	}
	for _, name := range strings.Fields(lacks) {
		if _, ok := state.MethodByName(name); ok {
			t.Errorf("%v has %s", state, name)
		}
	}
}

// A limit per shard is one of each shard, and a search without words finds nothing by accident.
func TestLimitPerShard(t *testing.T) {
	onEach(t, func(t *testing.T, v *object.Vaults) {
		acme := messagesOf(v).Tenant("acme")
		insert(t, acme, 60)
		shards, err := v.Shards(t.Context(), "chat", "acme")
		must(t, err)
		full, err := acme.SelectWithMetadata(t.Context(), object.All().OrderBy("sent").LimitPerShard(3))
		must(t, err)
		perShard, total := map[string]int{}, 0
		for i, o := range full {
			perShard[o.Metadata.Shard]++
			if i > 0 && full[i-1].Object.Sent > o.Object.Sent {
				t.Errorf("object %d is out of order", i)
			}
		}
		for _, s := range shards {
			on := 0
			for i := range 60 {
				list, err := acme.SelectWithMetadata(t.Context(), object.Where().Key("id").Equal(message(i).ID))
				must(t, err)
				if list[0].Metadata.Shard == s.Name {
					on++
				}
			}
			if perShard[s.Name] != min(3, on) {
				t.Errorf("%s answered %d objects of its %d", s.Name, perShard[s.Name], on)
			}
			total += min(3, on)
		}
		if limited, err := acme.Select(t.Context(), object.All().LimitPerShard(3).Limit(2)); err != nil || len(limited) != min(2, total) {
			t.Errorf("with both limits: got %v, %v", ids(limited), err)
		}
		if found, err := acme.Select(t.Context(), object.Where().Search("!?")); err == nil && len(found) > 0 {
			t.Errorf("searching what is no word finds %d objects", len(found))
		}
	})
}
