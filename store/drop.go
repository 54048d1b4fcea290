package store

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/typelist"
	"github.com/ontologia/onto/store/internal/catalog"
)

// Drop ends a type.
type Drop struct {
	Kind onto.Kind
	Type string

	// Relations are relation types that have it as an endpoint, and types of facts
	// about it, that end with it. With Cascade all of them do.
	Relations []string
	Cascade   bool

	// Purge removes every version of the types for good, as if they had never existed.
	// Without it, everything is deleted by one commit and can be read as of earlier
	// commits.
	Purge bool
}

// DropPlan is what dropping a type would do.
type DropPlan struct {
	Head       int64
	Types      []DropType // those that end
	Dependents []string   // relation types that have one of them as an endpoint, and types of facts about one, that would stay: they prevent the drop
	Purge      bool
	Token      string // identifies this plan at this head
}

// DropType is a type that would end.
type DropType struct {
	Kind     onto.Kind
	Name     string
	Version  int
	Former   []string // namesOf that it had before
	Live     int64    // things that exist now and are deleted
	Versions int64    // versions in history under all its names, which a purge removes
}

// PlanDrop returns what dropping a type would do, and changes nothing.
func PlanDrop(ctx context.Context, b backend.Backend, d *Drop) (*DropPlan, error) {
	s, err := peek(ctx, b, nil, nil)
	if err != nil {
		return nil, err
	}
	p, err := planDrop(ctx, s, d)
	if err != nil {
		return nil, err
	}
	return &p.DropPlan, nil
}

// DropTypes applies what PlanDrop plans. The result's ID is 0 if no commit was
// made: there was nothing to delete, or history was purged. It fails with
// Refused if a relation type depends on the type and is not dropped with it.
func DropTypes(ctx context.Context, b backend.Backend, d *Drop, o *ApplyOptions) (onto.Result, *DropPlan, error) {
	s, err := peek(ctx, b, nil, o)
	if err != nil {
		return onto.Result{}, nil, err
	}
	var plan *dropPlan
	res, err := apply(ctx, s, o, func(ctx context.Context) (*evolving, error) {
		if plan, err = planDrop(ctx, s, d); err != nil {
			return nil, err
		}
		if err := plan.Refusal(); err != nil {
			return nil, err
		}
		e := &evolving{head: plan.Head, token: plan.Token, change: plan.evolution(), writes: plan.writes, comment: plan.comment()}
		for _, t := range plan.Types {
			e.total += t.Live
		}
		return e, nil
	})
	if plan == nil || err != nil {
		return onto.Result{}, nil, err
	}
	return res, &plan.DropPlan, nil
}

// comment says what the drop does.
func (p *dropPlan) comment() string {
	var names []string
	for _, t := range p.Types {
		names = append(names, t.Name)
	}
	return "drop " + strings.Join(names, ", ")
}

// Refusal is why the plan cannot be applied; nil if it can.
func (p *DropPlan) Refusal() error {
	if len(p.Dependents) == 0 {
		return nil
	}
	return onto.Errorf(onto.Refused, "%s cannot be dropped: %s would have an endpoint or a subject of a type that does not exist", p.Types[0].Name, strings.Join(p.Dependents, ", ")).
		WithHint("drop them as well: --cascade-relations, or --drop-relation for each")
}

type dropPlan struct {
	DropPlan
	s      *Store
	stored []onto.SchemaVersion
}

// planDrop finds out which types end and how much there is of them.
func planDrop(ctx context.Context, s *Store, d *Drop) (*dropPlan, error) {
	p := &dropPlan{DropPlan: DropPlan{Purge: d.Purge}, s: s}
	var err error
	if p.stored, p.Head, err = standing(ctx, s); err != nil {
		return nil, err
	}
	t, err := s.catalog().Get(d.Kind, d.Type)
	if lives := s.catalog().Former[onto.TypeName{Kind: d.Kind, Name: d.Type}]; err != nil && d.Purge && lives != nil {
		t, err = lives[len(lives)-1], nil // it has ended before, and its history is to be purged now
	}
	if err != nil {
		return nil, err
	}
	ending := []*catalog.Type{t}
	for _, name := range d.Relations {
		r := s.catalog().Present[onto.TypeName{Kind: onto.KindFact, Name: name}]
		if r == nil {
			if r, err = s.catalog().Get(onto.KindRelation, name); err != nil {
				return nil, err
			}
		}
		if !d.dependent(r) {
			return nil, onto.Errorf(onto.Invalid, "%s does not have %s as an endpoint or subject", name, d.Type).WithHint("drop it by itself")
		}
		if !slices.Contains(ending, r) {
			ending = append(ending, r)
		}
	}
	for _, r := range s.catalog().EveryType() {
		if r.End != nil || !d.dependent(r) || slices.Contains(ending, r) {
			continue
		}
		if d.Cascade {
			ending = append(ending, r)
		} else {
			p.Dependents = append(p.Dependents, r.Schema.Name)
		}
	}
	if err := p.count(ctx, ending); err != nil {
		return nil, err
	}
	return p, p.checkShared(ending)
}

// dependent reports whether a type refers to the one that is dropped.
func (d *Drop) dependent(t *catalog.Type) bool {
	return d.Kind == onto.KindEntity && slices.Contains(endpoints(&t.Schema), d.Type)
}

// checkShared refuses a purge under a name that other types have had as well:
// what is stored under it is their history too.
func (p *dropPlan) checkShared(ending []*catalog.Type) error {
	if !p.Purge {
		return nil
	}
	for _, n := range p.s.catalog().EveryName() {
		if slices.Contains(ending, n.Type) || n.Type.End != nil && n.Type.End.RenamedTo != "" || n.Type.End != nil && n.Type.End.Purged {
			continue
		}
		for _, t := range ending {
			for _, name := range t.Names() {
				if n.Type.Schema.Kind == t.Schema.Kind && slices.Contains(n.Type.Names(), name) {
					return onto.Errorf(onto.Refused, "what is stored under %s is also the history of %s, so it cannot be purged", name, n.Name).
						WithHint("purge %s as well, or drop %s without purging", n.Name, t.Schema.Name)
				}
			}
		}
	}
	return nil
}

// count fills in the types and how much there is of them.
func (p *dropPlan) count(ctx context.Context, ending []*catalog.Type) error {
	for _, t := range ending {
		d := DropType{Kind: t.Schema.Kind, Name: t.Schema.Name, Version: t.Version, Former: t.Names()}
		d.Former = d.Former[:len(d.Former)-1]
		var err error
		if t.End == nil {
			d.Live, err = tally(ctx, p.s.b, &backend.Query{Kind: d.Kind, Type: d.Name, At: p.Head})
		}
		for _, name := range t.Names() {
			if err != nil {
				break
			}
			var n int64
			n, err = tally(ctx, p.s.b, &backend.Query{Kind: d.Kind, Type: name, Mode: backend.History, At: p.Head})
			d.Versions += n
		}
		if err != nil {
			return err
		}
		p.Types = append(p.Types, d)
	}
	p.Token = p.token()
	return nil
}

// token identifies what the drop does at its head. How much there is of the types is that of
// the head.
func (p *dropPlan) token() string {
	var names []onto.TypeName
	for _, t := range p.Types {
		names = append(names, onto.TypeName{Kind: t.Kind, Name: t.Name})
	}
	return token(hashOf(struct {
		Base  string          `json:"base"`
		Drop  []onto.TypeName `json:"drop"`
		Purge bool            `json:"purge"`
	}{typelist.Hash(p.stored), names, p.Purge}), p.Head)
}

// tally counts the versions that a query is about.
func tally(ctx context.Context, b backend.Backend, q *backend.Query) (int64, error) {
	for g, err := range b.Aggregate(ctx, &backend.Aggregation{Query: *q, Compute: []onto.Operand{onto.Count()}}) {
		if err != nil {
			return 0, err
		}
		return strconv.ParseInt(string(g.Values[0]), 10, 64)
	}
	return 0, nil
}

func (p *dropPlan) evolution() *backend.Evolution {
	e := &backend.Evolution{Base: typelist.Hash(p.stored), Runtime: p.s.opts.Runtime, Reason: "drop"}
	for _, t := range p.Types {
		if p.Purge {
			for _, name := range t.Former {
				e.End = append(e.End, backend.EndedType{Kind: t.Kind, Type: name, Purge: true})
			}
		}
		e.End = append(e.End, backend.EndedType{Kind: t.Kind, Type: t.Name, Purge: p.Purge})
	}
	return e
}

// writes yields the deletes of what lives. A purge leaves nothing to delete.
func (p *dropPlan) writes(ctx context.Context, step func()) iter.Seq2[backend.Write, error] {
	return func(yield func(backend.Write, error) bool) {
		if p.Purge {
			return
		}
		for _, t := range p.Types {
			for v, err := range p.s.b.Scan(ctx, &backend.Query{Kind: t.Kind, Type: t.Name, At: p.Head}) {
				if err != nil {
					yield(backend.Write{}, err)
					return
				}
				step()
				if !yield(backend.Write{Identity: v.Identity, Op: onto.Delete, SchemaVersion: t.Version}, nil) {
					return
				}
			}
		}
	}
}

// String describes the type for messages.
func (t DropType) String() string {
	return fmt.Sprintf("%s %s: %d live, %d versions", t.Kind, t.Name, t.Live, t.Versions)
}
