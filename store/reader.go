package store

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/exec"
	"github.com/ontologia/onto/internal/refusal"
	"github.com/ontologia/onto/store/internal/catalog"
)

// reader reads versions from the backend as the present types have them, or as
// they are stored.
type reader struct {
	View
	t *catalog.Type
}

// scan answers a query, and checks its types afterwards.
func (r reader) scan(ctx context.Context, q *backend.Query) iter.Seq2[onto.Version, error] {
	return verified(ctx, r, r.answer(ctx, q))
}

// answer answers a query about a moment whose types are known. Where everything it reads
// is stored in the form of the present type, the backend answers alone; otherwise rows
// are upgraded first, and the rest is done in process.
func (r reader) answer(ctx context.Context, q *backend.Query) iter.Seq2[onto.Version, error] {
	ends := q.Ends()
	if err := r.checkEnds(q, ends); err != nil {
		return failed[onto.Version](err)
	}
	if r.native(q, ends) {
		return r.s.b.Scan(ctx, q)
	}
	return exec.Select(q, r.rows(ctx, q), r.endpoints(ctx, q))
}

// aggregate answers an aggregation.
func (r reader) aggregate(ctx context.Context, a *backend.Aggregation) iter.Seq2[onto.Group, error] {
	if err := r.checkEnds(&a.Query, a.Ends()); err != nil {
		return failed[onto.Group](err)
	}
	if r.native(&a.Query, a.Ends()) {
		return verified(ctx, r, r.s.b.Aggregate(ctx, a))
	}
	return verified(ctx, r, exec.Aggregate(a, r.rows(ctx, &a.Query), r.endpoints(ctx, &a.Query)))
}

// get returns the version of an identity as of a commit.
func (r reader) get(ctx context.Context, id onto.Identity, at int64) (onto.Version, error) {
	v, err := r.find(ctx, id, at)
	if stale := r.s.stands(ctx, r.catalog(), r.t); stale != nil {
		return onto.Version{}, stale
	}
	return v, err
}

func (r reader) find(ctx context.Context, id onto.Identity, at int64) (onto.Version, error) {
	c := r.t.Chain
	if !r.stored && c != nil && !c.Begun(at) {
		return onto.Version{}, refusal.NoVersion(id)
	}
	if r.stored || c == nil || c.Ready(at) {
		return r.s.b.Get(ctx, id, at)
	}
	source := id
	source.Type = c.Source(at)
	v, err := r.s.b.Get(ctx, source, at)
	if err != nil {
		if onto.CodeOf(err) == onto.NotFound {
			err = refusal.NoVersion(id)
		}
		return v, err
	}
	if c.LeavesOut(&v, at) {
		return onto.Version{}, refusal.NoVersion(id)
	}
	return v, c.Upgrade(ctx, &v, at, r.s.opts.UpgradeTimeout)
}

// commitsOf returns the commits after one and up to another that made versions
// of an identity, oldest first.
func (r reader) commitsOf(ctx context.Context, id onto.Identity, since, until int64) ([]int64, error) {
	var list []int64
	q := &backend.Query{Kind: id.Kind, Type: id.Type, Mode: backend.History, At: until, Since: since, Identity: &id}
	for _, part := range r.raw(q) {
		for v, err := range r.s.b.Scan(ctx, &part) {
			if err != nil {
				return nil, err
			}
			list = append(list, v.Commit)
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// native reports whether the backend can answer a question with these endpoints alone.
func (r reader) native(q *backend.Query, ends backend.Ends) bool {
	if r.stored {
		return true
	}
	if c := r.t.Chain; c != nil && !c.Native(q) {
		return false
	}
	return (!ends.Left || r.catalog().NativeEnd(r.t.Schema.Left, q)) && (!ends.Right || r.catalog().NativeEnd(r.t.Schema.Right, q))
}

// checkEnds refuses a history as stored whose endpoints had several names: one question
// cannot cover both.
func (r reader) checkEnds(q *backend.Query, ends backend.Ends) error {
	if !r.stored || q.Mode != backend.History || !ends.Any() {
		return nil
	}
	for _, was := range r.t.Ends {
		if was != [2]string{r.t.Schema.Left, r.t.Schema.Right} {
			return onto.Errorf(onto.Invalid, "the endpoints of %s were renamed, so a history as stored cannot look at them", r.t.Schema.Name).
				WithHint("look at the history as the types are now, or at one moment as stored")
		}
	}
	return nil
}

// rows yields the versions that a query is about, upgraded, in the order of its
// mode: what the backend cannot select by itself is not applied yet.
func (r reader) rows(ctx context.Context, q *backend.Query) iter.Seq2[onto.Version, error] {
	return func(yield func(onto.Version, error) bool) {
		for _, raw := range r.raw(q) {
			for v, err := range r.s.b.Scan(ctx, &raw) {
				if err == nil && r.leavesOut(&v, q) {
					continue
				}
				if err == nil {
					err = r.upgrade(ctx, &v, q)
				}
				if !yield(v, err) || err != nil {
					return
				}
			}
		}
	}
}

// upgrade brings a version that a query found to the present.
func (r reader) upgrade(ctx context.Context, v *onto.Version, q *backend.Query) error {
	c := r.t.Chain
	if c == nil {
		return nil
	}
	at := momentOf(v, q)
	if c.Ready(at) {
		return nil
	}
	return c.Upgrade(ctx, v, at, r.s.opts.UpgradeTimeout)
}

// momentOf is the commit as of which a query found a version.
func momentOf(v *onto.Version, q *backend.Query) int64 {
	if q.Mode == backend.History {
		return v.Commit
	}
	return q.At
}

// leavesOut reports whether the present type does not show what a query found.
func (r reader) leavesOut(v *onto.Version, q *backend.Query) bool {
	return r.t.Chain != nil && r.t.Chain.LeavesOut(v, momentOf(v, q))
}

// raw is the backend's queries for a query: one for each name that the type had in its
// commits.
func (r reader) raw(q *backend.Query) []backend.Query {
	base := backend.Query{
		Kind: q.Kind, Type: q.Type, Mode: q.Mode, At: q.At, Since: q.Since, Identity: q.Identity,
		Keys: q.Keys, LeftKeys: q.LeftKeys, RightKeys: q.RightKeys,
	}
	c := r.t.Chain
	if c == nil {
		return []backend.Query{base}
	}
	if q.Mode == backend.State {
		if !c.Begun(q.At) {
			return nil
		}
		base.Type = c.Source(q.At)
		return []backend.Query{base}
	}
	var list []backend.Query
	for _, p := range c.Spans() {
		part := base
		part.Type = p.Name
		if q.Identity != nil {
			id := *q.Identity
			id.Type = p.Name
			part.Identity = &id
		}
		part.Since = max(part.Since, p.First-1)
		if p.Last != backend.Head && (part.At == backend.Head || part.At > p.Last) {
			part.At = p.Last
		}
		if part.At == backend.Head || part.At > part.Since {
			list = append(list, part)
		}
	}
	return list
}

// endpoints returns how the fields of a relation's endpoints are found.
func (r reader) endpoints(ctx context.Context, q *backend.Query) exec.Endpoints {
	return func(v *onto.Version) (left, right json.RawMessage, err error) {
		at := q.At
		if q.Mode == backend.History {
			at = v.Commit
		}
		if r.t.Schema.Left != "" { // which facts need not have
			left, err = r.endpoint(ctx, onto.EntityID(r.t.Schema.Left, v.Left), at)
		}
		if err != nil || r.t.Schema.Right == "" {
			return left, nil, err
		}
		right, err = r.endpoint(ctx, onto.EntityID(r.t.Schema.Right, v.Right), at)
		return left, right, err
	}
}

// endpoint returns the fields of an entity as of a commit, nil if it does not
// exist then.
func (r reader) endpoint(ctx context.Context, id onto.Identity, at int64) (json.RawMessage, error) {
	t, err := r.catalog().Life(id.Kind, id.Type, at)
	if err != nil {
		t = &catalog.Type{}
	}
	v, err := reader{r.View, t}.find(ctx, id, at)
	if onto.CodeOf(err) == onto.NotFound || err == nil && !v.Live() {
		return nil, nil
	}
	return v.Fields, err
}

// explain tells how a query or an aggregation is answered.
func (r reader) explain(ctx context.Context, q *backend.Query, a *backend.Aggregation) (backend.Explanation, error) {
	explainer, ok := backend.As[backend.Explainer](r.s.b)
	if !ok {
		return backend.Explanation{}, onto.Errorf(onto.UnsupportedOperation, "this backend cannot explain its answers")
	}
	asked := q
	var ends backend.Ends
	if a != nil {
		asked, ends = &a.Query, a.Ends()
	} else {
		ends = q.Ends()
	}
	if r.native(asked, ends) {
		return explainer.Explain(ctx, q, a)
	}
	var e backend.Explanation
	for _, raw := range r.raw(asked) {
		part, err := explainer.Explain(ctx, &raw, nil)
		if err != nil {
			return e, err
		}
		if e.Statement != "" {
			e.Statement += ";\n"
		}
		e.Statement += part.Statement
		e.Plan = append(e.Plan, part.Plan...)
		e.Process = append(e.Process, part.Process...)
	}
	e.Process = append(e.Process, r.upgrading(asked))
	return e, nil
}

// upgrading says how rows of older versions are upgraded.
func (r reader) upgrading(q *backend.Query) string {
	c := r.t.Chain
	if c == nil {
		return "upgrade the endpoints, then filter, group, sort and page"
	}
	first, last := c.Stages[c.At(q.At)].Type, c.Stages[len(c.Stages)-1].Type
	if q.Mode == backend.History {
		first = c.Stages[c.At(q.Since+1)].Type
	}
	return fmt.Sprintf("upgrade from %s version %d to %s version %d, then filter, group, sort and page",
		first.Schema.Name, first.Version, last.Schema.Name, last.Version)
}
