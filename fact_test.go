package onto_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/effort"
)

func day(d int) time.Time { return time.Date(2026, 1, d, 0, 0, 0, 0, time.UTC) }

func TestFactRef(t *testing.T) {
	for _, c := range []struct {
		fact onto.Fact
		want string
	}{
		{onto.Fact{Type: "Contract", Subject: "ada", Attribute: "salary", ID: "f1"}, "Contract/ada/salary/f1"},
		{onto.Fact{Type: "Contract", Subject: "a/b c", Attribute: "salary", ID: "é"}, "Contract/a%2Fb%20c/salary/%C3%A9"},
		{onto.Fact{Type: "Contract", Subject: "..", Attribute: "_a", ID: "."}, "Contract/%2E%2E/_a/%2E"},
		{onto.Fact{Type: "Contract", Subject: "%", Attribute: "a", ID: "%2F"}, "Contract/%25/a/%252F"},
	} {
		if got := c.fact.Ref(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
		if id, err := onto.ParseFactRef(c.want); err != nil || id != c.fact.Identity() {
			t.Errorf("%s: got %v, %v; want %v", c.want, id, err, c.fact.Identity())
		}
	}
}

func TestParseFactRefRefuses(t *testing.T) {
	for _, c := range []struct{ ref, want string }{
		{"", `"" does not refer to a fact`},
		{"Contract", `"Contract" does not refer to a fact`},
		{"Contract/ada/salary", `"Contract/ada/salary" does not refer to a fact`},
		{"Contract/ada/salary/f1/", `"Contract/ada/salary/f1/" does not refer to a fact`},
		{"/Contract/ada/salary/f1", `"/Contract/ada/salary/f1" does not refer to a fact`},
		{"Contract//salary/f1", `"Contract//salary/f1" does not refer to a fact: the segment "" is not how a name is escaped`},
		{"Contract/%/salary/f1", "Contract subject is empty"},
		{"Contract/ada/salary/%", "Contract fact id is empty"},
		{"Contract/ada/%/f1", "Contract: attribute name is empty"},
		{"Contract/ada/the-salary/f1", `Contract: attribute name "the-salary" is not allowed`},
		{"Contract/ada/salary/f 1", `"Contract/ada/salary/f 1" does not refer to a fact: the segment "f 1" is not how a name is escaped`},
		{"Contract/ada/salary/é", `"Contract/ada/salary/é" does not refer to a fact: the segment "é" is not how a name is escaped`},
		{"Contract/ada/salary/%c3%a9", `"Contract/ada/salary/%c3%a9" does not refer to a fact: the segment "%c3%a9" is not how a name is escaped`},
		{"Contract/%41da/salary/f1", `"Contract/%41da/salary/f1" does not refer to a fact: the segment "%41da" is not how a name is escaped`},
		{"Contract/ada/salary/%ZZ", `"Contract/ada/salary/%ZZ" does not refer to a fact: the segment "%ZZ" has the escape "%ZZ", which is not hexadecimal`},
		{"Contract/ada/salary/%4", `"Contract/ada/salary/%4" does not refer to a fact: the segment "%4" ends within an escape`},
		{"Contract/ada/salary/%00", "Contract fact id contains U+0000"},
		{"Contract/ada/salary/%FF", "Contract fact id is not valid UTF-8"},
		{"7up/ada/salary/f1", `type name "7up" is not allowed`},
	} {
		_, err := onto.ParseFactRef(c.ref)
		if message(err) != c.want || onto.CodeOf(err) != onto.Invalid {
			t.Errorf("%q:\n got %v (%s)\nwant %s", c.ref, err, onto.CodeOf(err), c.want)
		}
	}
	_, err := onto.ParseFactRef("Contract/" + strings.Repeat("x", onto.MaxKey+1) + "/salary/f1")
	if onto.CodeOf(err) != onto.TooLarge {
		t.Errorf("a long subject: got %v, want the code %s", err, onto.TooLarge)
	}
	if _, err := onto.ParseFactRef(strings.Repeat("/x", 1<<20)); len(err.Error()) > 1000 {
		t.Errorf("a long text makes a message of %d bytes", len(err.Error()))
	}
	if _, err := onto.ParseFactRef("ada"); onto.HintOf(err).Text == "" {
		t.Errorf("%v has no hint", err)
	}
}

// Whatever names an identity has, its reference is one word and leads back to it.
func TestFactRefRandom(t *testing.T) {
	name := rapid.StringMatching(`[A-Za-z_][A-Za-z0-9_]{0,20}`)
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[%/.0-9A-F ]{1,8}`)).Filter(func(s string) bool {
		return s != "" && len(s) <= onto.MaxKey && utf8.ValidString(s) && !strings.Contains(s, "\x00")
	})
	seen := map[string]onto.Identity{}
	effort.Check(t, 1000, func(t *rapid.T) {
		id := onto.FactID(name.Draw(t, "type"), text.Draw(t, "subject"), name.Draw(t, "attribute"), text.Draw(t, "id"))
		if err := id.Check(); err != nil {
			t.Fatal(err)
		}
		ref := id.FactRef()
		if strings.ContainsFunc(ref, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"'\?*&;|<>$`, r) }) {
			t.Fatalf("%q is not one plain word", ref)
		}
		if back, err := onto.ParseFactRef(ref); err != nil || back != id {
			t.Fatalf("%s: got %v, %v; want %v", ref, back, err, id)
		}
		if other, ok := seen[ref]; ok && other != id {
			t.Fatalf("%s is the reference of %v and of %v", ref, other, id)
		}
		seen[ref] = id
	})
}

// A text that is read as a reference is the only one of its fact.
func FuzzParseFactRef(f *testing.F) {
	for _, ref := range []string{"Contract/ada/salary/f1", "A/%2E/b/%2E%2E", "A/%/b/c", "A/%25/b/%2", "A//b/c", "A/b/c/d/e", "%41/b/c/d"} {
		f.Add(ref)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		id, err := onto.ParseFactRef(ref)
		if err != nil {
			if code := onto.CodeOf(err); code != onto.Invalid && code != onto.TooLarge {
				t.Fatalf("%q: got %v without a code", ref, err)
			}
			return
		}
		if err := id.Check(); err != nil || id.Kind != onto.KindFact {
			t.Fatalf("%q was read as %v, which is not well formed: %v", ref, id, err)
		}
		if back := id.FactRef(); back != ref {
			t.Fatalf("%q was read as %v, whose reference is %q", ref, id, back)
		}
	})
}

func TestFactHolds(t *testing.T) {
	var none time.Time
	for _, c := range []struct {
		from, until, at time.Time
		want            bool
	}{
		{none, none, day(1), true},
		{none, none, none, true},
		{none, none, none.Add(-time.Hour), true}, // there is no bound
		{day(2), none, day(1), false},
		{day(2), none, day(2), true},
		{day(2), none, day(3), true},
		{none, day(2), day(1), true},
		{none, day(2), day(2).Add(-time.Microsecond), true},
		{none, day(2), day(2), false},
		{none, day(2), none.Add(-time.Hour), true},
		{day(2), day(4), day(2), true},
		{day(2), day(4), day(4), false},
		{day(2), day(4), day(2).In(time.FixedZone("", 3600)), true},
	} {
		f := onto.Fact{From: c.from, Until: c.until}
		if got := f.Holds(c.at); got != c.want {
			t.Errorf("[%v, %v) at %v: got %v, want %v", c.from, c.until, c.at, got, c.want)
		}
	}
}

func version(fields string) *onto.Version {
	return &onto.Version{Identity: onto.FactID("Contract", "ada", "salary", "f1"), Op: onto.Put, Commit: 7, SchemaVersion: 1, Fields: json.RawMessage(fields)}
}

func TestFactOf(t *testing.T) {
	plain := onto.Fact{Type: "Contract", Subject: "ada", Attribute: "salary", ID: "f1", Asserted: 7, Commit: 7}
	with := func(edit func(*onto.Fact)) onto.Fact {
		f := plain
		edit(&f)
		return f
	}
	for _, c := range []struct {
		fields string
		want   onto.Fact
	}{
		{`{}`, plain},
		{``, plain}, // as a delete may have
		{`{"salary":4000}`, with(func(f *onto.Fact) { f.Value = int64(4000) })},
		{`{"salary":9007199254740993}`, with(func(f *onto.Fact) { f.Value = int64(9007199254740993) })},
		{`{"salary":null}`, plain},
		{`{"salary":[1,{"a":null}]}`, with(func(f *onto.Fact) { f.Value = []any{int64(1), map[string]any{"a": nil}} })},
		{`{"value":"x"}`, with(func(f *onto.Fact) { f.Value = "x" })},
		{`{"salary":1,"value":"x"}`, with(func(f *onto.Fact) { f.Value = int64(1) })},
		{`{"employer":"Acme"}`, plain}, // another attribute's
		{`{"asserted":3,"kind":"accepted","revoked":{"why":1},"salary":true,"seq":2,"valid_from":"2026-01-01T00:00:00.000000+00:00","valid_until":"2026-01-02T00:00:00.000000+00:00"}`,
			with(func(f *onto.Fact) {
				f.Asserted, f.Kind, f.Revoked, f.Value, f.Seq = 3, "accepted", map[string]any{"why": int64(1)}, true, 2
				f.From, f.Until = day(1), day(2)
			})},
		{`{"asserted":null,"kind":null,"revoked":null,"seq":null,"valid_from":null,"valid_until":null}`, plain},
		{` { "salary" : 1.50 , "seq":1 } `, with(func(f *onto.Fact) { f.Value, f.Seq = 1.5, 1 })}, // as another program writes it
	} {
		if got, err := onto.FactOf(version(c.fields)); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %+v, %v\nwant %+v", c.fields, got, err, c.want)
		}
	}
	if _, err := onto.FactOf(&onto.Version{Identity: onto.EntityID("Person", "ada"), Fields: json.RawMessage("{}")}); !errors.Is(err, onto.Invalid) {
		t.Errorf("an entity: got %v, want Invalid", err)
	}
}

// A row that is not as facts are written is refused: a bound that cannot be read would be
// no bound.
func TestFactOfRefuses(t *testing.T) {
	for _, fields := range []string{
		`[]`, `1`, `"x"`, `null`, `{`, `{"salary":}`, `{"salary":1}x`, `{"salary":1,"salary":2}`, "\xff", `{"a":1e999}`,
		`{"valid_from":5}`, `{"valid_until":true}`, `{"valid_until":"tomorrow"}`, `{"valid_from":""}`, `{"valid_from":["2026-01-01T00:00:00Z"]}`,
		`{"seq":"1"}`, `{"seq":1.5}`, `{"asserted":1e30}`, `{"asserted":[]}`, `{"kind":1}`, `{"kind":{}}`,
	} {
		if got, err := onto.FactOf(version(fields)); !errors.Is(err, onto.Corrupt) || !strings.Contains(err.Error(), `Contract "ada" salary ["f1"] at commit 7`) {
			t.Errorf("%s: got %+v, %v; want a Corrupt that names fact and commit", fields, got, err)
		}
	}
}

func FuzzFactOf(f *testing.F) {
	for _, fields := range []string{`{}`, `{"salary":1,"seq":2,"valid_from":"2026-01-01T00:00:00Z"}`, `{"value":[{}]}`, `[`, `{"asserted":-1}`, ``} {
		f.Add(fields)
	}
	f.Fuzz(func(t *testing.T, fields string) {
		fact, err := onto.FactOf(version(fields))
		if err != nil && !errors.Is(err, onto.Corrupt) {
			t.Fatalf("%q: got %v, want Corrupt", fields, err)
		}
		if err == nil && (fact.Identity() != version("").Identity || fact.Commit != 7) {
			t.Fatalf("%q: got %+v, which is another fact", fields, fact)
		}
	})
}

func TestFactDecode(t *testing.T) {
	var number int
	var list []string
	var object struct{ Name string }
	var anything any
	for _, c := range []struct {
		value     any
		dst, want any
	}{
		{int64(7), &number, 7},
		{[]any{"a", "b"}, &list, []string{"a", "b"}},
		{map[string]any{"Name": "Acme"}, &object, struct{ Name string }{"Acme"}},
		{[]any{int64(9007199254740993), 0.5, nil}, &anything, []any{int64(9007199254740993), 0.5, nil}},
	} {
		f := onto.Fact{Value: c.value}
		if err := f.Decode(c.dst); err != nil {
			t.Errorf("%v: %v", c.value, err)
		} else if got := reflect.ValueOf(c.dst).Elem().Interface(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: got %v, want %v", c.value, got, c.want)
		}
	}
	fact := onto.Fact{Type: "Contract", Subject: "ada", Attribute: "salary", ID: "f1"}
	for _, c := range []struct{ value, dst any }{
		{"text", &number}, {int64(1), number}, {int64(1), nil}, {func() {}, &anything}, {math.NaN(), &anything}, {int64(math.MaxInt64), new(int8)},
	} {
		fact.Value = c.value
		if err := fact.Decode(c.dst); !errors.Is(err, onto.Invalid) || !strings.Contains(err.Error(), `Contract "ada" salary ["f1"]`) {
			t.Errorf("%v into %T: got %v, want an Invalid that names the fact", c.value, c.dst, err)
		}
	}
	anything = nil
	if err := (onto.Fact{}).Decode(&anything); err != nil || anything != nil {
		t.Errorf("no value: got %v, %v; want nothing", anything, err)
	}
}

func TestFactIdentity(t *testing.T) {
	id := onto.FactID("Contract", "ada", "salary", "f1")
	if got, want := id.String(), `Contract "ada" salary ["f1"]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, c := range []struct {
		id   onto.Identity
		code onto.Code
	}{
		{id, ""},
		{onto.FactID("Contract", "", "salary", "f1"), onto.Invalid},
		{onto.FactID("Contract", "ada", "", "f1"), onto.Invalid},
		{onto.FactID("Contract", "ada", "a-b", "f1"), onto.Invalid},
		{onto.FactID("Contract", "ada", strings.Repeat("a", onto.MaxName+1), "f1"), onto.Invalid},
		{onto.FactID("Contract", "ada", "salary", ""), onto.Invalid},
		{onto.FactID("Contract", "ada", "salary", "a\x00b"), onto.Invalid},
		{onto.FactID("Contract", "\xff", "salary", "f1"), onto.Invalid},
		{onto.FactID("", "ada", "salary", "f1"), onto.Invalid},
		{onto.FactID("Contract", strings.Repeat("x", onto.MaxKey+1), "salary", "f1"), onto.TooLarge},
		{onto.FactID("Contract", "ada", "salary", strings.Repeat("x", onto.MaxKey+1)), onto.TooLarge},
		{onto.Identity{Kind: onto.KindFact, Type: "Contract", Key: "k", Left: "ada", Right: "salary", Instance: "f1"}, onto.Invalid},
	} {
		if err := c.id.Check(); onto.CodeOf(err) != c.code || (err == nil) != (c.code == "") {
			t.Errorf("%v: got %v, want the code %q", c.id, err, c.code)
		}
	}
	if !(onto.EntityID("Z", "z").Compare(id) < 0 && id.Compare(onto.RelationID("A", "a", "a")) < 0) {
		t.Error("facts do not come after entities and before relations")
	}
	if got := onto.Kinds(); !reflect.DeepEqual(got, []onto.Kind{onto.KindEntity, onto.KindFact, onto.KindRelation}) {
		t.Errorf("got the kinds %v", got)
	}
}

func TestDraftOfFacts(t *testing.T) {
	fact := onto.Fact{Type: "Contract", Subject: "ada", Attribute: "salary", ID: "f1"}
	d := onto.Draft{}.Assert(fact, fact).Retract(fact.Identity()).Revoke(fact.Identity(), day(3), "left")
	var got []onto.Intent
	for in := range d.Intents() {
		got = append(got, in)
	}
	want := []onto.Intent{
		{Op: onto.Put, Value: fact}, {Op: onto.Put, Value: fact}, {Op: onto.Delete, Identity: fact.Identity()},
		{Op: onto.Put, Identity: fact.Identity(), Revoke: &onto.Revocation{At: day(3), Note: "left"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for range (onto.Draft{}).Assert().Retract().Intents() {
		t.Error("no facts make an intent")
	}
}
