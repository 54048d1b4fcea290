package store

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/bitemporal"
	"github.com/ontologia/onto/internal/codec"
)

// ValidAt is the same view of what holds at a time: of what was believed at its moment,
// the facts about that time. Without it, Now is about the present, AsOf a time about that
// time, and At a commit about the time of the commit.
func (v View) ValidAt(t time.Time) View {
	v.valid = &t
	return v
}

// validTime is the valid time of a question, in its stored form.
func (q *question) validTime(ctx context.Context) (string, error) {
	t, timed := q.v.point.Time()
	switch {
	case q.v.valid != nil:
		return q.continued(*q.v.valid)
	case timed:
		return q.continued(t)
	case q.v.point.IsHead() && q.cursor != "":
		if t, err := codec.ParseTime(q.valid); err != nil || codec.FormatTime(t) != q.valid {
			return "", q.damaged()
		}
		return q.valid, nil
	case q.v.point.IsHead():
		return stored(time.Now())
	}
	c, err := q.v.Commit(ctx)
	if err != nil {
		return "", err
	}
	return q.continued(c.Time)
}

// continued is a time that the view gives, unless the cursor is from a view of another one.
func (q *question) continued(t time.Time) (string, error) {
	text, err := stored(t)
	if err == nil && q.cursor != "" && text != q.valid {
		err = onto.Errorf(onto.Invalid, "the cursor is about what holds at %s, not %s", q.valid, text).
			WithHint("leave out the valid time: the cursor remembers it")
	}
	return text, err
}

// factReader reads the answer to a question about facts.
type factReader struct {
	q      *question
	ask    *backend.Query    // its backend's form, with the caller's filters
	every  bool              // whether they speak or not
	ranged bool              // those of a period, not of the valid time
	within bitemporal.Period // the period; without bounds for all of time
	spans  bool              // all facts on an attribute come in one group, also if it has many values
	whole  bool              // with facts that do not hold then
	limit  int               // no more are wanted; 0 for all

	asked struct { // the attribute that was asked about last
		name string
		many bool
	}
}

// versions yields the versions of the facts that the question is about, in order of
// identity.
func (r *factReader) versions(ctx context.Context) iter.Seq2[onto.Version, error] {
	if r.every {
		ask := *r.ask
		ask.Where, ask.Limit = r.conditions(ask.Where), r.limit
		return r.q.reader().scan(ctx, &ask)
	}
	return func(yield func(onto.Version, error) bool) {
		for g, err := range r.groups(ctx) {
			if err != nil {
				yield(onto.Version{}, err)
				return
			}
			for i := range r.speaking(g) {
				if v := &g.facts[i]; g.wanted(v) && !r.passed(v) && !yield(*v, nil) {
					return
				}
			}
		}
	}
}

// passed reports whether a version was on an earlier page.
func (r *factReader) passed(v *onto.Version) bool {
	return r.ask.After != nil && v.Identity.Compare(r.ask.After.Identity) <= 0
}

// speaking yields which facts of a group speak, in order of identity.
func (r *factReader) speaking(g *group) iter.Seq[int] {
	if r.ranged {
		return slices.Values(bitemporal.Speaking(g.claims, g.many, r.within))
	}
	return func(yield func(int) bool) { // no other ones were added
		for i := range g.facts {
			if !yield(i) {
				return
			}
		}
	}
}

// conditions is a filter with the one for facts that can hold at the valid time, or at
// some moment of the period. A bound that is missing is neither before nor after a time.
func (r *factReader) conditions(where onto.Filter) onto.Filter {
	all := make(onto.And, 0, 3)
	if where != nil {
		all = append(all, where)
	}
	from, until := onto.Path(onto.FactFrom), onto.Path(onto.FactUntil)
	switch {
	case r.ranged && r.within.Until != "":
		all = append(all, onto.Not{Of: from.Ge(r.within.Until)})
		fallthrough
	case r.ranged:
		if r.within.From != "" {
			all = append(all, onto.Not{Of: until.Le(r.within.From)})
		}
	case !r.every:
		all = append(all, onto.Not{Of: from.Gt(r.q.valid)}, onto.Not{Of: until.Le(r.q.valid)})
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
func (r *factReader) surroundings() onto.Filter {
	if r.whole || len(r.ask.LeftKeys) > 0 {
		return nil
	}
	return r.conditions(nil)
}

// group is the facts on one attribute of a subject, in order of identity.
type group struct {
	subject, attribute string

	facts  []onto.Version
	claims []bitemporal.Claim
	many   bool // the attribute has many values

	found map[onto.Identity]bool // those for which the filters are true; nil for all
}

func (g *group) wanted(v *onto.Version) bool { return g.found == nil || g.found[v.Identity] }

// add adds a fact. At a valid time only those that speak are kept. A damaged file can
// hold anything, which may cause a panic here.
func (r *factReader) add(g *group, v *onto.Version) (err error) {
	defer func() {
		if recover() != nil {
			err = onto.Errorf(onto.Corrupt, "%s at commit %d: its fields are no canonical JSON object", v.Identity, v.Commit)
		}
	}()
	if r.ranged {
		g.facts, g.claims = append(g.facts, *v), append(g.claims, bitemporal.Read(v))
		return nil
	}
	c, holds := bitemporal.ReadAt(v, r.q.valid)
	switch {
	case !holds:
	case g.many || len(g.facts) == 0:
		g.facts, g.claims = append(g.facts, *v), append(g.claims, c)
	case c.Compare(g.claims[0]) > 0:
		g.facts[0], g.claims[0] = *v, c
	}
	return nil
}

// begin empties the group for the facts on another attribute or subject.
func (g *group) begin(v *onto.Version, many bool) {
	clear(g.facts)
	g.facts, g.claims = g.facts[:0], g.claims[:0]
	g.subject, g.attribute, g.many = v.Left, v.Right, many
}

// groups yields the facts that matter, by subject and attribute. Each group is valid
// until the next.
func (r *factReader) groups(ctx context.Context) iter.Seq2[*group, error] {
	if r.ask.Where != nil {
		return r.filtered(ctx)
	}
	ask := *r.ask
	ask.Where, ask.Limit = r.surroundings(), 0
	if ask.After != nil && !r.alone(ask.After.Identity.Right) {
		begin := *ask.After
		begin.Identity.Instance = "" // before all facts of the group
		ask.After = &begin
	}
	return r.grouped(ctx, &ask)
}

// alone reports whether each fact on an attribute speaks or not whatever the others are.
func (r *factReader) alone(attribute string) bool { return !r.spans && r.many(attribute) }

func (r *factReader) many(attribute string) bool {
	if r.asked.name != attribute {
		field, _ := r.q.t.Schema.Attribute(attribute)
		r.asked.name, r.asked.many = attribute, field.Many
	}
	return r.asked.many
}

// grouped yields the facts of a query by subject and attribute. Those that are alone may
// come in several groups, which need not be kept.
func (r *factReader) grouped(ctx context.Context, ask *backend.Query) iter.Seq2[*group, error] {
	return func(yield func(*group, error) bool) {
		g := group{facts: make([]onto.Version, 0, fewFacts), claims: make([]bitemporal.Claim, 0, fewFacts)}
		for v, err := range r.q.reader().scan(ctx, ask) {
			if err != nil {
				yield(nil, err)
				return
			}
			if g.attribute != v.Right || g.subject != v.Left || g.many && !r.spans {
				if len(g.facts) > 0 && !yield(&g, nil) {
					return
				}
				g.begin(&v, r.many(v.Right))
			}
			if err := r.add(&g, &v); err != nil {
				yield(nil, err)
				return
			}
		}
		if len(g.facts) > 0 {
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
func (r *factReader) filtered(ctx context.Context) iter.Seq2[*group, error] {
	return func(yield func(*group, error) bool) {
		if err := r.q.pin(ctx, r.ask); err != nil {
			yield(nil, err)
			return
		}
		ask := *r.ask
		ask.Where, ask.Limit = r.conditions(ask.Where), 0
		var batch []onto.Identity
		most := firstCandidates
		for v, err := range r.q.reader().scan(ctx, &ask) {
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
func (r *factReader) around(ctx context.Context, candidates []onto.Identity, yield func(*group, error) bool) bool {
	found := make(map[onto.Identity]bool, len(candidates))
	var subjects, attributes []string
	for _, id := range candidates {
		found[id] = true
		subjects, attributes = append(subjects, id.Left), append(attributes, id.Right)
	}
	ask := *r.ask
	ask.Where, ask.Limit, ask.After = nil, 0, nil // all about these subjects
	ask.LeftKeys, ask.RightKeys = distinct(subjects), distinct(attributes)
	for g, err := range r.grouped(ctx, &ask) {
		if err == nil {
			g.found = found
			if !anyOf(g.facts, found) {
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
