// Package factread reads the facts that a question is about, one attribute of a subject
// after the other, and finds those that speak.
package factread

import (
	"context"
	"iter"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/bitemporal"
)

// Reader reads the answer to a question about facts.
type Reader struct {
	Scan func(context.Context, *backend.Query) iter.Seq2[onto.Version, error] // reads versions as the present type has them
	Pin  func(context.Context, *backend.Query) error                          // replaces the head by its present commit

	Ask    *backend.Query    // with the caller's filters
	Schema *onto.Schema      // of the facts
	Valid  string            // the valid time, in its stored form
	Every  bool              // whether they speak or not
	Ranged bool              // those of a period, not of the valid time
	Within bitemporal.Period // the period; without bounds for all of time
	Spans  bool              // all facts on an attribute come in one group, also if it has many values
	Whole  bool              // with facts that do not hold then
	Limit  int               // no more are wanted; 0 for all

	asked struct { // the attribute that was asked about last
		name string
		many bool
	}
}

// Versions yields the versions of the facts that the question is about, in order of
// identity.
func (r *Reader) Versions(ctx context.Context) iter.Seq2[onto.Version, error] {
	if r.Every {
		ask := *r.Ask
		ask.Where, ask.Limit = r.Conditions(ask.Where), r.Limit
		return r.Scan(ctx, &ask)
	}
	return func(yield func(onto.Version, error) bool) {
		for g, err := range r.Groups(ctx) {
			if err != nil {
				yield(onto.Version{}, err)
				return
			}
			for i := range r.speaking(g) {
				if v := &g.Facts[i]; g.wanted(v) && !r.passed(v) && !yield(*v, nil) {
					return
				}
			}
		}
	}
}

// passed reports whether a version was on an earlier page.
func (r *Reader) passed(v *onto.Version) bool {
	return r.Ask.After != nil && v.Identity.Compare(r.Ask.After.Identity) <= 0
}

// speaking yields which facts of a group speak, in order of identity.
func (r *Reader) speaking(g *Group) iter.Seq[int] {
	if r.Ranged {
		return slices.Values(bitemporal.Speaking(g.Claims, g.Many, r.Within))
	}
	return func(yield func(int) bool) { // no other ones were added
		for i := range g.Facts {
			if !yield(i) {
				return
			}
		}
	}
}

// Conditions is a filter with the one for facts that can hold at the valid time, or at
// some moment of the period. A bound that is missing is neither before nor after a time.
func (r *Reader) Conditions(where onto.Filter) onto.Filter {
	all := make(onto.And, 0, 3)
	if where != nil {
		all = append(all, where)
	}
	from, until := onto.Path(onto.FactFrom), onto.Path(onto.FactUntil)
	switch {
	case r.Ranged && r.Within.Until != "":
		all = append(all, onto.Not{Of: from.Ge(r.Within.Until)})
		fallthrough
	case r.Ranged:
		if r.Within.From != "" {
			all = append(all, onto.Not{Of: until.Le(r.Within.From)})
		}
	case !r.Every:
		all = append(all, onto.Not{Of: from.Gt(r.Valid)}, onto.Not{Of: until.Le(r.Valid)})
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return all
}

// surroundings is the filter for the facts that decide what speaks. It only spares
// reading the others: those about one subject are found fast, and told apart here faster
// than by a filter.
func (r *Reader) surroundings() onto.Filter {
	if r.Whole || len(r.Ask.LeftKeys) > 0 {
		return nil
	}
	return r.Conditions(nil)
}

// Group is the facts on one attribute of a subject, in order of identity.
type Group struct {
	subject, attribute string

	Facts  []onto.Version
	Claims []bitemporal.Claim
	Many   bool // the attribute has many values

	found map[onto.Identity]bool // those for which the filters are true; nil for all
}

func (g *Group) wanted(v *onto.Version) bool { return g.found == nil || g.found[v.Identity] }

// add adds a fact. At a valid time only those that speak are kept. A damaged file can
// hold anything, which may cause a panic here.
func (r *Reader) add(g *Group, v *onto.Version) (err error) {
	defer func() {
		if recover() != nil {
			err = onto.Errorf(onto.Corrupt, "%s at commit %d: its fields are no canonical JSON object", v.Identity, v.Commit)
		}
	}()
	if r.Ranged {
		g.Facts, g.Claims = append(g.Facts, *v), append(g.Claims, bitemporal.Read(v))
		return nil
	}
	c, holds := bitemporal.ReadAt(v, r.Valid)
	switch {
	case !holds:
	case g.Many || len(g.Facts) == 0:
		g.Facts, g.Claims = append(g.Facts, *v), append(g.Claims, c)
	case c.Compare(g.Claims[0]) > 0:
		g.Facts[0], g.Claims[0] = *v, c
	}
	return nil
}

// begin empties the group for the facts on another attribute or subject.
func (g *Group) begin(v *onto.Version, many bool) {
	clear(g.Facts)
	g.Facts, g.Claims = g.Facts[:0], g.Claims[:0]
	g.subject, g.attribute, g.Many = v.Left, v.Right, many
}

// Groups yields the facts that matter, by subject and attribute. Each group is valid
// until the next.
func (r *Reader) Groups(ctx context.Context) iter.Seq2[*Group, error] {
	if r.Ask.Where != nil {
		return r.filtered(ctx)
	}
	ask := *r.Ask
	ask.Where, ask.Limit = r.surroundings(), 0
	if ask.After != nil && !r.alone(ask.After.Identity.Right) {
		begin := *ask.After
		begin.Identity.Instance = "" // before all facts of the group
		ask.After = &begin
	}
	return r.grouped(ctx, &ask)
}

// alone reports whether each fact on an attribute speaks or not whatever the others are.
func (r *Reader) alone(attribute string) bool { return !r.Spans && r.many(attribute) }

func (r *Reader) many(attribute string) bool {
	if r.asked.name != attribute {
		field, _ := r.Schema.Attribute(attribute)
		r.asked.name, r.asked.many = attribute, field.Many
	}
	return r.asked.many
}

// grouped yields the facts of a query by subject and attribute. Those that are alone may
// come in several groups, which need not be kept.
func (r *Reader) grouped(ctx context.Context, ask *backend.Query) iter.Seq2[*Group, error] {
	return func(yield func(*Group, error) bool) {
		g := Group{Facts: make([]onto.Version, 0, fewFacts), Claims: make([]bitemporal.Claim, 0, fewFacts)}
		for v, err := range r.Scan(ctx, ask) {
			if err != nil {
				yield(nil, err)
				return
			}
			if g.attribute != v.Right || g.subject != v.Left || g.Many && !r.Spans {
				if len(g.Facts) > 0 && !yield(&g, nil) {
					return
				}
				g.begin(&v, r.many(v.Right))
			}
			if err := r.add(&g, &v); err != nil {
				yield(nil, err)
				return
			}
		}
		if len(g.Facts) > 0 {
			yield(&g, nil)
		}
	}
}

// fewFacts is how many facts most attributes have at most.
const fewFacts = 8

// The numbers of facts that are looked at together: few at first, in case no more are
// wanted, then more, since each batch is another question to the backend.
const (
	firstCandidates = 256
	mostCandidates  = 8192
)

// filtered yields the groups that have a fact for which the filters are true, with these
// marked. The filters do not decide what speaks, so the facts that they find are only
// candidates: the other facts on their attributes are read too.
func (r *Reader) filtered(ctx context.Context) iter.Seq2[*Group, error] {
	return func(yield func(*Group, error) bool) {
		if err := r.Pin(ctx, r.Ask); err != nil {
			yield(nil, err)
			return
		}
		ask := *r.Ask
		ask.Where, ask.Limit = r.Conditions(ask.Where), 0
		var batch []onto.Identity
		most := firstCandidates
		for v, err := range r.Scan(ctx, &ask) {
			if err != nil {
				yield(nil, err)
				return
			}
			if n := len(batch); n >= most && (batch[n-1].Left != v.Left || batch[n-1].Right != v.Right) {
				if !r.around(ctx, batch, yield) {
					return
				}
				batch, most = batch[:0], min(2*most, mostCandidates)
			}
			batch = append(batch, v.Identity)
		}
		if len(batch) > 0 {
			r.around(ctx, batch, yield)
		}
	}
}

// around yields the groups that candidates are in.
func (r *Reader) around(ctx context.Context, candidates []onto.Identity, yield func(*Group, error) bool) bool {
	found := make(map[onto.Identity]bool, len(candidates))
	var subjects, attributes []string
	for _, id := range candidates {
		found[id] = true
		subjects, attributes = append(subjects, id.Left), append(attributes, id.Right)
	}
	ask := *r.Ask
	ask.Where, ask.Limit, ask.After = nil, 0, nil // all about these subjects
	slices.Sort(attributes)
	ask.LeftKeys, ask.RightKeys = slices.Compact(subjects), slices.Compact(attributes) // candidates come in order
	for g, err := range r.grouped(ctx, &ask) {
		if err == nil {
			g.found = found
			if !anyOf(g.Facts, found) {
				continue // of another subject and attribute of the batch
			}
		}
		if !yield(g, err) || err != nil {
			return false
		}
	}
	return true
}

func anyOf(facts []onto.Version, found map[onto.Identity]bool) bool {
	for i := range facts {
		if found[facts[i].Identity] {
			return true
		}
	}
	return false
}

// Segments returns who speaks when, with gaps or without: those in all of a period, or,
// if that is nil, between the first segment and the last. Filters leave out segments,
// which makes no gaps.
func (r *Reader) Segments(g *Group, gaps bool, gapsIn *bitemporal.Period) []bitemporal.Segment {
	list := bitemporal.Timeline(g.Claims, g.Many, r.Within)
	if gaps {
		list = bitemporal.WithGaps(list, gapsIn)
	}
	if g.found == nil {
		return list
	}
	var kept []bitemporal.Segment
	any := false
	for _, s := range list {
		speaks := s.Claim != bitemporal.Gap && g.wanted(&g.Facts[s.Claim])
		if any = any || speaks; speaks || s.Claim == bitemporal.Gap {
			kept = append(kept, s)
		}
	}
	if !any {
		return nil
	}
	return kept
}
