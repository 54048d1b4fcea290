package store_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/store"
)

// factType is a type of facts about persons, given by its attributes.
func factType(name, subject string, open bool, attributes ...onto.Field) onto.Type {
	for i := range attributes {
		attributes[i].Optional = true
	}
	return onto.Untyped(onto.Schema{Kind: onto.KindFact, Name: name, Left: subject, Open: open, Fields: attributes})
}

func attribute(name string, typ onto.FieldType) onto.Field { return onto.Field{Name: name, Type: typ} }

func many(f onto.Field) onto.Field {
	f.Many = true
	return f
}

func personType(name string) onto.Type { return onto.TypeOf[person]().As(name) }

// migrated opens the store with other types after it was migrated to them.
func migrated(t *testing.T, b backend.Backend, m *store.Migration) (*store.Store, *store.MigrationPlan, error) {
	t.Helper()
	_, plan, err := store.Migrate(t.Context(), b, m, &store.ApplyOptions{Force: true})
	if err != nil {
		return nil, nil, err
	}
	s, err := store.OpenWith(t.Context(), shared{b}, &store.Options{Upgraders: m.Upgraders}, m.Types...)
	return s, plan, err
}

// shared is a backend that stays open when a store is closed.
type shared struct{ backend.Backend }

func (shared) Close() error              { return nil }
func (s shared) Unwrap() backend.Backend { return s.Backend }

// No migration of a type of facts changes an answer, at any commit, and what was asserted
// before is still older than what is asserted after it.
func TestMigrationsOfFactsKeepEveryAnswer(t *testing.T) {
	text, number := onto.String, onto.Int
	asText := store.Upgrader{Type: "contract", From: 1, Program: `if has("salary") then .salary |= tostring else . end`}
	function := store.Upgrader{Type: "contract", From: 1, Func: func(fields map[string]any) (map[string]any, error) {
		if n, ok := fields["salary"].(int64); ok {
			fields["salary"] = strconv.FormatInt(n, 10)
		}
		return fields, nil
	}}
	tags := many(attribute("tags", text))
	all := func(salary onto.FieldType) []onto.Field {
		return []onto.Field{attribute("employer", text), attribute("salary", salary), tags}
	}
	for _, c := range []struct {
		name     string
		typ      string
		m        store.Migration
		rewrites bool
	}{
		{"an attribute more", "contract", store.Migration{Types: []onto.Type{personType("person"), factType("contract", "person", false, append(all(number), attribute("bonus", number))...)}}, false},
		{"an attribute less", "contract", store.Migration{Types: []onto.Type{personType("person"), factType("contract", "person", false, all(number)[:2]...)}}, false},
		{"opened", "contract", store.Migration{Types: []onto.Type{personType("person"), factType("contract", "person", true, all(number)...)}}, false},
		{"opened, with an attribute less", "contract", store.Migration{Types: []onto.Type{personType("person"), factType("contract", "person", true, attribute("employer", text), tags)}}, true},
		{"many values", "contract", store.Migration{Types: []onto.Type{personType("person"),
			factType("contract", "person", false, attribute("employer", text), many(attribute("salary", number)), tags)}}, false},
		{"wider", "contract", store.Migration{Types: []onto.Type{personType("person"), factType("contract", "person", false, all(onto.Any)...)}}, false},
		{"another type by a program", "contract", store.Migration{Types: []onto.Type{personType("person"), factType("contract", "person", false, all(text)...)}, Upgraders: []store.Upgrader{asText}}, true},
		{"another type by a function", "contract", store.Migration{Types: []onto.Type{personType("person"), factType("contract", "person", false, all(text)...)}, Upgraders: []store.Upgrader{function}}, true},
		{"renamed", "deal", store.Migration{Types: []onto.Type{personType("person"), factType("deal", "person", false, all(number)...)}, Upgraders: []store.Upgrader{store.RenameType("contract", "deal")}}, true},
		{"renamed with their subjects", "deal", store.Migration{Types: []onto.Type{personType("human"), factType("deal", "human", false, all(number)...)},
			Upgraders: []store.Upgrader{store.RenameType("contract", "deal"), store.RenameType("person", "human")}}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range effort.Seeds(t, 20) {
				h, b := newFactHistory(t, seed, 25)
				before := answers(t, h.s, h.typ, h.last)
				at := h.last
				s, plan, err := migrated(t, b, &c.m)
				if err != nil {
					t.Fatal(err)
				}
				if head, _ := s.Head(t.Context()); c.rewrites != (head.ID > at) {
					t.Fatalf("head %d after %d: the facts were rewritten, or not; the plan is %+v", head.ID, at, plan.Types)
				}
				if got := answers(t, s, c.typ, at); !slices.Equal(got, before) {
					t.Fatalf("seed %d: got\n%s\nwant\n%s", seed, strings.Join(got, "\n"), strings.Join(before, "\n"))
				}
				head, _ := s.Head(t.Context())
				now, was := answers(t, s, c.typ, head.ID), before[len(before)-6:]
				for i, got := range now[len(now)-6:] {
					if _, got, _ := strings.Cut(got, ": "); !strings.HasSuffix(was[i], got) {
						t.Fatalf("seed %d: after the migration: got %s, want %s", seed, got, was[i])
					}
				}
				for change, err := range s.Diff(t.Context(), store.DiffOptions{From: onto.AtCommit(at), To: onto.AtCommit(head.ID)}) {
					if err != nil || change.Type == c.typ {
						t.Fatalf("seed %d: a difference: %+v, %v", seed, change, err)
					}
				}
				h.goOn(s, c.typ, 10)
			}
		})
	}
}

// goOn goes on with the history after a migration; its reverts go back behind it.
func (h *factHistory) goOn(s *store.Store, typ string, steps int) {
	h.t.Helper()
	head, err := s.Head(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	first := head.ID
	h.s, h.typ, h.last = s, typ, head.ID
	for i := range h.ids {
		h.ids[i].Type = typ
	}
	for range steps {
		c := 1 + h.rnd.Int64N(first)
		res, _, err := s.Revert(h.t.Context(), onto.Draft{}, store.Revert{Commit: c, Over: true})
		if err != nil {
			h.t.Fatalf("revert of %d: %v", c, err)
		}
		h.last = max(h.last, res.ID)
	}
	for _, id := range h.ids { // back to what they were in the middle, whoever has changed them
		if _, _, err := s.Revert(h.t.Context(), onto.Draft{}, store.Revert{Identity: id, To: first / 2, Over: true}); err != nil {
			h.t.Fatal(err)
		}
	}
	for m := range 12 {
		if got, want := speaking(h.t, s.Now(), typ, day(1, 1+m*20)), speaking(h.t, s.At(first/2), typ, day(1, 1+m*20)); got != want {
			h.t.Fatalf("after all was reverted: got %s, want %s", got, want)
		}
	}
}

// Facts on an attribute that was not declared get a field of their own when it is, and
// lose it when it is not any more.
func TestAttributesAreDeclaredLater(t *testing.T) {
	ctx := t.Context()
	open := factType("note", "", true, attribute("text", onto.String))
	s, b := openFacts(t, open)
	mustCommit(t, s, onto.Draft{}.Assert(
		onto.Fact{Type: "note", Subject: "n", Attribute: "color", ID: "1", Value: "red", From: day(1, 1)},
		onto.Fact{Type: "note", Subject: "n", Attribute: "color", ID: "2", Value: "blue", From: day(3, 1)},
		onto.Fact{Type: "note", Subject: "n", Attribute: "text", ID: "3", Value: "hello"}))
	before := answers(t, s, "note", 1)
	declared := factType("note", "", true, attribute("text", onto.String), onto.Field{Name: "color", Type: onto.String, Index: true})
	if _, err := store.PlanTypes(ctx, b, declared); onto.CodeOf(err) != onto.SchemaOutdated {
		t.Errorf("opening with an attribute more: got %v, want schema_outdated: its values have to move", err)
	}
	s, plan, err := migrated(t, b, &store.Migration{Types: []onto.Type{declared}})
	if err != nil || plan.Types[0].Steps[0].How != "color is declared: its values get a field of their own" {
		t.Fatalf("got %+v, %v", plan, err)
	}
	if got := answers(t, s, "note", 1); !slices.Equal(got, before) {
		t.Errorf("got %q, want %q", got, before)
	}
	for _, v := range []store.View{s.Now(), s.At(1)} {
		n, err := v.FindKind(onto.KindFact, "note").Where(onto.Path("color").Eq("red")).Count(ctx)
		if err != nil || n != 1 {
			t.Errorf("a filter on the attribute found %d, %v", n, err)
		}
	}
	v, err := s.Now().Get(ctx, onto.FactID("note", "n", "color", "2"))
	if want := `{"asserted":1,"color":"blue","seq":1,"valid_from":"2026-03-01T00:00:00.000000+00:00"}`; err != nil || string(v.Fields) != want {
		t.Errorf("got %s, %v, want %s", v.Fields, err, want)
	}
	s, _, err = migrated(t, b, &store.Migration{Types: []onto.Type{open}, Upgraders: nil})
	if err != nil {
		t.Fatal(err)
	}
	if got := answers(t, s, "note", 2); !slices.Equal(got[:6], before[:6]) || !strings.Contains(got[17], "n.color=blue") {
		t.Errorf("after it is not declared any more: got %q, want %q", got, before)
	}
	if v, err = s.Now().Get(ctx, onto.FactID("note", "n", "color", "2")); err != nil || !strings.Contains(string(v.Fields), `"value":"blue"`) {
		t.Errorf("got %s, %v", v.Fields, err)
	}
}

// An attribute can go when no fact on it is believed any more. Such facts of the past are
// shown as stored.
func TestAttributesGo(t *testing.T) {
	ctx := t.Context()
	s, b := openFacts(t, onto.TypeOf[person](), onto.TypeOf[contract]())
	pay := onto.Fact{Type: "contract", Subject: "ada", Attribute: "salary", ID: "pay", Value: 4000}
	mustCommit(t, s, onto.Draft{}.Assert(pay, onto.Fact{Type: "contract", Subject: "ada", Attribute: "employer", ID: "e", Value: "Acme"}))
	less := &store.Migration{Types: []onto.Type{personType("person"), factType("contract", "person", false, attribute("employer", onto.String))}}
	_, err := store.PlanMigration(ctx, b, less)
	if onto.CodeOf(err) != onto.Refused || !strings.Contains(err.Error(), "there are facts on salary") || !strings.Contains(onto.HintOf(err).String(), "retract them first") {
		t.Fatalf("got %v", err)
	}
	mustCommit(t, s, onto.Draft{}.Retract(pay.Identity()))
	s, _, err = migrated(t, b, less)
	if err != nil {
		t.Fatal(err)
	}
	if got := speaking(t, s.At(1), "contract", day(1, 1)); got != "ada.employer=Acme (e)" {
		t.Errorf("the past shows %s", got)
	}
	if _, err := s.At(1).Get(ctx, pay.Identity()); onto.CodeOf(err) != onto.Invalid {
		t.Errorf("got %v, want that there is no such attribute", err)
	}
	if v, err := s.At(1).AsStored().Get(ctx, pay.Identity()); err != nil || string(v.Fields) != `{"salary":4000}` {
		t.Errorf("as stored: got %s, %v", v.Fields, err)
	}
	for _, q := range []store.DiffOptions{{From: onto.AtCommit(1)}, {From: onto.AtCommit(1), Type: "contract"}} {
		for c, err := range s.Diff(ctx, q) {
			t.Errorf("a difference: %+v, %v", c, err)
		}
	}
	for e, err := range s.Now().FindKind(onto.KindFact, "contract").Versions(ctx, 0) {
		if err != nil || e.Version.Right != "employer" {
			t.Errorf("history shows %s, %v", e.Version.Identity, err)
		}
	}
	// A later program does not see them either.
	next := &store.Migration{Types: []onto.Type{personType("person"), factType("contract", "person", false, attribute("employer", onto.Int), attribute("salary", onto.String))},
		Upgraders: []store.Upgrader{{Type: "contract", From: 2, Program: `.employer |= length`}}}
	if s, _, err = migrated(t, b, next); err != nil {
		t.Fatal(err)
	}
	if got := speaking(t, s.At(1), "contract", day(1, 1)); got != "ada.employer=4 (e)" {
		t.Errorf("the past shows %s", got)
	}
	if _, err := s.At(1).Get(ctx, pay.Identity()); onto.CodeOf(err) != onto.NotFound {
		t.Errorf("a fact on an attribute that was left out before it came again: got %v", err)
	}
}

// What an upgrader makes of a fact is a fact, with the same bounds and place; otherwise
// the error names it and nothing has changed.
func TestUpgradersOfFactsAreHeldToTheirValue(t *testing.T) {
	for _, c := range []struct{ name, program, want string }{
		{"no value", `del(.salary)`, "there is no value"},
		{"null", `.salary = null`, "there is no value"},
		{"another attribute", `if has("salary") then .salary |= tostring else . end | .employer = "Acme"`, "a value of employer, which is another attribute"},
		{"other bounds", `{salary: (.salary // 0 | tostring)}`, "changed "},
		{"another place", `if has("salary") then .salary |= tostring | .seq = 7 else . end`, "changed seq"},
		{"another assertion", `if has("salary") then .salary |= tostring | .asserted = 7 else . end`, "changed asserted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, b := openFacts(t, onto.TypeOf[person](), onto.TypeOf[contract]())
			mustCommit(t, s, onto.Draft{}.Assert(onto.Fact{Type: "contract", Subject: "ada", Attribute: "salary", ID: "pay", Value: 1, From: day(1, 1)}))
			m := &store.Migration{Types: []onto.Type{personType("person"), factType("contract", "person", false, attribute("employer", onto.String), attribute("salary", onto.String))},
				Upgraders: []store.Upgrader{{Type: "contract", From: 1, Program: c.program}}}
			_, _, err := migrated(t, b, m)
			if onto.CodeOf(err) != onto.UpgraderFailed || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `"pay"`) {
				t.Errorf("got %v, want %s, and the name of the fact", err, c.want)
			}
			if _, err := s.Now().Get(t.Context(), onto.FactID("contract", "ada", "salary", "pay")); err != nil {
				t.Errorf("after it: %v", err)
			}
		})
	}
	s, b := openFacts(t, onto.TypeOf[person](), onto.TypeOf[contract]())
	mustCommit(t, s, onto.Draft{}.Assert(onto.Fact{Type: "contract", Subject: "ada", Attribute: "salary", ID: "pay", Value: 1}))
	wages := factType("contract", "person", false, attribute("employer", onto.String), attribute("wage", onto.Int))
	for name, u := range map[string]store.Upgrader{"renamed": store.RenameField("contract", 1, "salary", "wage"), "dropped": store.DropField("contract", 1, "salary")} {
		_, err := store.PlanMigration(t.Context(), b, &store.Migration{Types: []onto.Type{personType("person"), wages}, Upgraders: []store.Upgrader{u}})
		if onto.CodeOf(err) != onto.Invalid || !strings.Contains(err.Error(), "the attribute salary") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := store.PlanMigration(t.Context(), b, &store.Migration{Types: []onto.Type{personType("human"), wages}, Upgraders: []store.Upgrader{store.RenameType("person", "human")}}); onto.CodeOf(err) != onto.Invalid {
		t.Errorf("facts that stay with the old name of their subjects: got %v", err)
	}
	_, err := store.PlanMigration(t.Context(), b, &store.Migration{Types: []onto.Type{personType("human")}, Upgraders: []store.Upgrader{store.RenameType("person", "human")}})
	if onto.CodeOf(err) != onto.Invalid || !strings.Contains(err.Error(), "the facts contract are about person, which is renamed to human") {
		t.Errorf("facts that are left behind: got %v", err)
	}
	_, err = store.PlanMigration(t.Context(), b, &store.Migration{Types: []onto.Type{factType("contract", "", false, attribute("salary", onto.Int))}})
	if onto.CodeOf(err) != onto.Invalid || !strings.Contains(err.Error(), "about any texts and were about person") {
		t.Errorf("other subjects: got %v", err)
	}
}

// The type of subjects is dropped with the facts about them, or not at all.
func TestSubjectsAreDroppedWithTheirFacts(t *testing.T) {
	ctx := t.Context()
	s, b := openFacts(t, onto.TypeOf[person](), onto.TypeOf[contract]())
	mustCommit(t, s, onto.Draft{}.Ensure(person{"ada"}).Assert(onto.Fact{Type: "contract", Subject: "ada", Attribute: "salary", ID: "pay", Value: 1}))
	drop := &store.Drop{Kind: onto.KindEntity, Type: "person"}
	plan, err := store.PlanDrop(ctx, b, drop)
	if err != nil || fmt.Sprint(plan.Dependents) != "[contract]" || onto.CodeOf(plan.Refusal()) != onto.Refused {
		t.Fatalf("got %+v, %v", plan, err)
	}
	named := *drop
	named.Relations = []string{"contract"}
	drop.Cascade = true
	for _, d := range []*store.Drop{&named, drop} {
		if plan, err = store.PlanDrop(ctx, b, d); err != nil || len(plan.Dependents) > 0 || len(plan.Types) != 2 {
			t.Fatalf("got %+v, %v", plan, err)
		}
	}
	res, _, err := store.DropTypes(ctx, b, drop, &store.ApplyOptions{Token: plan.Token})
	if err != nil || res.Operations != 2 {
		t.Fatalf("got %+v, %v", res, err)
	}
	if got := speaking(t, s.At(1), "contract", day(1, 1)); got != "ada.salary=1 (pay)" {
		t.Errorf("the past shows %s", got)
	}
}

// Names that begin with onto_ are the store's own.
func TestNamesOfTheStoresOwn(t *testing.T) {
	ctx := t.Context()
	field := onto.Untyped(onto.Schema{Kind: onto.KindEntity, Name: "State", Key: "id", Fields: []onto.Field{
		{Name: "id", Type: onto.String}, {Name: "onto_fold", Type: onto.Object, Optional: true}}})
	for name, typ := range map[string]onto.Type{
		"a type": personType("onto_folds"), "a field": field, "an attribute": factType("Note", "", false, attribute("onto_fold", onto.Int)),
		"nothing but the prefix": personType("onto_"),
	} {
		_, b := openFacts(t)
		_, open := store.Open(ctx, shared{b}, typ)
		_, plan := store.PlanTypes(ctx, b, typ)
		_, migration := store.PlanMigration(ctx, b, &store.Migration{Types: []onto.Type{typ}})
		for verb, err := range map[string]error{"open": open, "plan": plan, "migrate": migration} {
			if onto.CodeOf(err) != onto.Invalid || !strings.Contains(err.Error(), "the store's own") {
				t.Errorf("%s, %s: got %v", verb, name, err)
			}
		}
	}
}
