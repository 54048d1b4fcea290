package facttest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/store"
)

// Member is an entity that relations and facts are about.
type Member struct {
	ID   string `json:"id" onto:"key"`
	Name string `json:"name"`
}

// Knows is a relation with members at both ends.
type Knows struct {
	onto.Link[Member, Member]
	Since int `json:"since"`
}

// Opinion is facts about members.
type Opinion struct {
	onto.About[Member]
	Rank int      `json:"rank"`
	Tags []string `json:"tags" onto:"many"`
}

// RunUndo compares subjects that were brought back to a moment with what they were then:
// all about them is as it was, and nothing else has changed. Each history has so many
// commits as there are facts.
func RunUndo(t *testing.T, size Size, open func(t *testing.T) backend.Backend) {
	changes := 0
	for i := range size.Histories {
		seed := size.Seed + uint64(i)
		t.Run(fmt.Sprint("history ", seed), func(t *testing.T) {
			s, err := store.Open(t.Context(), open(t), onto.TypeOf[Member](), onto.TypeOf[Knows](), onto.TypeOf[Opinion](), onto.TypeOf[Belief]())
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			u := &undone{t: t, s: s, random: rand.New(rand.NewPCG(seed, 31))}
			for u.head < int64(size.Facts) {
				u.commit()
			}
			for range size.Points {
				changes += u.undo()
				u.commit()
			}
		})
	}
	t.Logf("%d histories of %d commits, %d subjects brought back: %d changes", size.Histories, size.Facts, size.Histories*size.Points, changes)
}

// undone is a store with subjects that are brought back.
type undone struct {
	t      *testing.T
	s      *store.Store
	random *rand.Rand
	head   int64
	facts  []onto.Identity
}

func (u *undone) member() string { return fmt.Sprint("m", u.random.IntN(3)) }

// commit changes something about some of the subjects.
func (u *undone) commit() {
	u.t.Helper()
	d, done := onto.Draft{}, map[string]bool{}
	for range 1 + u.random.IntN(4) {
		subject, other := u.member(), u.member()
		what := u.random.IntN(8)
		if key := fmt.Sprint(what/2, subject, other); done[key] || done[fmt.Sprint(what/2, subject)] && what < 2 {
			continue
		} else {
			done[key], done[fmt.Sprint(what/2, subject)] = true, true
		}
		switch what {
		case 0:
			d = d.Ensure(Member{subject, fmt.Sprint("n", u.random.IntN(5))})
		case 1:
			d = d.Delete(onto.EntityID("Member", subject))
		case 2:
			d = d.Ensure(Knows{onto.Between[Member, Member](subject, other), u.random.IntN(5)})
		case 3:
			d = d.Delete(onto.RelationID("Knows", subject, other))
		case 4, 5:
			typ := []string{"Opinion", "Opinion", "Belief"}[u.random.IntN(3)]
			f := onto.Fact{Type: typ, Subject: subject, Attribute: "rank", Value: u.random.IntN(9), From: month(1 + u.random.IntN(5)), ID: fmt.Sprint(len(u.facts))}
			if u.random.IntN(3) == 0 {
				f.Attribute, f.Value = "tags", fmt.Sprint("t", f.Value)
			}
			u.facts = append(u.facts, f.Identity())
			d = d.Assert(f)
		default:
			if f, ok := u.live(); ok && !done[f.Identity().String()] {
				done[f.Identity().String()] = true
				if end := f.From.AddDate(0, 0, 1+u.random.IntN(20)); what == 6 && (f.Until.IsZero() || end.Before(f.Until)) {
					d = d.Revoke(f.Identity(), end, nil)
				} else {
					d = d.Retract(f.Identity())
				}
			}
		}
	}
	res, err := u.s.Commit(u.t.Context(), d)
	if err != nil {
		u.t.Fatal(err)
	}
	u.head = max(u.head, res.ID)
}

// live is one of the facts, if it is believed and was there before this commit.
func (u *undone) live() (onto.Fact, bool) {
	if len(u.facts) == 0 {
		return onto.Fact{}, false
	}
	v, err := u.s.Now().Get(u.t.Context(), u.facts[u.random.IntN(len(u.facts))])
	if err != nil {
		return onto.Fact{}, false
	}
	f, err := onto.FactOf(&v)
	return f, err == nil
}

// undo brings a subject back to a random moment, and returns how much that changed.
func (u *undone) undo() int {
	u.t.Helper()
	ctx := u.t.Context()
	subject, to := store.Subject{Type: "Member", Key: u.member()}, u.random.Int64N(u.head+1)
	if u.random.IntN(4) == 0 {
		subject.Type = "Opinion"
	}
	about := func(id onto.Identity) bool {
		if id.Type == "Belief" || subject.Type != "Member" && id.Kind != onto.KindFact {
			return false
		}
		return id.Key == subject.Key || id.Left == subject.Key || id.Kind == onto.KindRelation && id.Right == subject.Key
	}
	rest := func(id onto.Identity) bool { return !about(id) }
	want := u.state(u.s.At(to), about)
	same, before := u.state(u.s.Now(), rest), u.state(u.s.Now(), about)
	plan, err := u.s.PlanRevert(ctx, store.Revert{Subject: subject, To: to})
	if err != nil {
		if onto.CodeOf(err) == onto.NotFound && len(before) == 0 {
			return 0
		}
		u.t.Fatal(err)
	}
	planned := 0
	for c, err := range plan.Changes {
		if err != nil || !about(c.Identity) || len(c.Blocked) > 0 {
			u.t.Fatalf("%s to %d: planned %s, blocked by %v, error %v", subject, to, c.Identity, c.Blocked, err)
		}
		planned++
	}
	res, _, err := u.s.Revert(ctx, onto.Draft{}.ExpectHead(plan.Head), store.Revert{Subject: subject, To: to})
	if err != nil {
		u.t.Fatal(err)
	}
	u.head = max(u.head, res.ID)
	if res.Operations != planned || res.Changed() != (planned > 0) {
		u.t.Fatalf("%s to %d: made %d versions, planned %d", subject, to, res.Operations, planned)
	}
	if got := u.state(u.s.Now(), about); !slices.Equal(got, want) {
		u.t.Fatalf("%s to %d: got %q, want %q; it was %q", subject, to, got, want, before)
	}
	if got := u.state(u.s.Now(), rest); !slices.Equal(got, same) {
		u.t.Fatalf("%s to %d: others were %q and are %q", subject, to, same, got)
	}
	return planned
}

// state is what a view shows of some identities, and what the facts among them say.
func (u *undone) state(v store.View, of func(onto.Identity) bool) []string {
	u.t.Helper()
	var list []string
	for _, typ := range []string{"Member", "Knows", "Opinion", "Belief"} {
		for x, err := range v.Find(typ).All(u.t.Context()) {
			if err != nil {
				u.t.Fatal(err)
			}
			if !of(x.Identity) {
				continue
			}
			if x.Kind != onto.KindFact {
				list = append(list, fmt.Sprintf("%s %s", x.Identity, x.Fields))
			} else if f, err := onto.FactOf(&x); err != nil {
				u.t.Fatal(err)
			} else {
				f.Commit = 0 // what brought it back
				list = append(list, show(f))
			}
		}
	}
	for n := 1; n < 7; n++ {
		for _, typ := range []string{"Opinion", "Belief"} {
			for f, err := range v.ValidAt(month(n).Add(-time.Hour)).Facts(typ).All(u.t.Context()) {
				if err != nil {
					u.t.Fatal(err)
				}
				if of(f.Identity()) {
					list = append(list, fmt.Sprintf("%d: %s %s %v", n, f.Subject, f.Attribute, f.Value))
				}
			}
		}
	}
	return list
}
