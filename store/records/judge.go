package records

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/computed"
	"github.com/ontologia/onto/store"
)

// verdict is the decision on one record.
type verdict struct {
	effect effect
	reason string // why it is refused
}

type effect uint8

const (
	inserts effect = iota
	updates
	unchanged
	deletes
	skips
	refuses
)

// judge decides on a record, given the present version of its identity.
func (o *ImportOptions) judge(p *store.Proposal) verdict {
	live := p.Live()
	if p.Identity.Kind == onto.KindFact {
		if v := o.judgeFact(p); v != nil {
			return *v
		}
	}
	switch {
	case o.Precondition == MustExist && !live:
		return verdict{refuses, "does not exist"}
	case o.Precondition == MustNotExist && live:
		return verdict{refuses, "exists already"}
	case p.Lacks != "":
		return verdict{refuses, "does not exist, and there is no " + p.Lacks + " to make it"}
	case !p.Changes:
		return verdict{effect: unchanged}
	case p.Op == onto.Delete:
		return verdict{effect: deletes}
	case !live:
		return verdict{effect: inserts}
	case o.OnConflict == Upsert:
		return verdict{effect: updates}
	case o.OnConflict == Skip:
		return verdict{effect: skips}
	}
	return verdict{refuses, "exists with other fields"}
}

// judgeFact decides on a record of a fact that cannot be had; nil if it can.
func (o *ImportOptions) judgeFact(p *store.Proposal) *verdict {
	reason := ""
	switch {
	case p.Newest == nil && p.Op == onto.Delete:
		return &verdict{refuses, "was never asserted"}
	case p.Newest == nil || p.Op == onto.Delete || !p.Changes:
		return nil
	case p.Live():
		known, _ := onto.FactOf(p.Newest) // a damaged one is known from its newest version
		reason = fmt.Sprintf("is known from commit %d, and says something else", known.Asserted)
	default:
		reason = fmt.Sprintf("was retracted by commit %d, so its id is used up", p.Newest.Commit)
	}
	if o.OnConflict == Skip && o.Precondition == NoPrecondition {
		return &verdict{effect: skips}
	}
	return &verdict{refuses, reason}
}

// hint says what to do about a refused record.
func (o *ImportOptions) hint(kind onto.Kind) string {
	const nothing, list = "nothing was stored: ", "; a dry run lists such records"
	if o.Precondition != NoPrecondition {
		return nothing + "take the record out, or leave out the precondition " + string(o.Precondition) + list
	}
	if kind == onto.KindFact {
		return nothing + "a fact cannot be changed; take the record out, or give it another id, or choose --on-conflict skip to leave such facts as they are" + list
	}
	return nothing + "take the record out, or choose --on-conflict skip to leave such things as they are, or upsert to replace them" + list
}

// count adds a verdict to the outcome. It reports false if the record is refused.
func (out *Outcome) count(v verdict) bool {
	counters := [...]*int64{
		inserts: &out.Inserts, updates: &out.Updates, unchanged: &out.Unchanged,
		deletes: &out.Deletes, skips: &out.Skipped, refuses: &out.Conflicts,
	}
	*counters[v.effect]++
	return v.effect != refuses
}

// count adds a verdict to the outcome. It reports false if the record is refused.
func (f *feed) count(v verdict, p *store.Proposal) bool {
	if v.effect == updates {
		f.out.Emptied += f.emptied(p)
	}
	return f.out.count(v)
}

// emptied counts the fields that a proposal empties, or gives their default back.
func (f *feed) emptied(p *store.Proposal) (n int64) {
	schema := f.types.types[p.Identity.Kind][p.Identity.Type]
	if schema == nil {
		return 0
	}
	return emptiedIn(schema.Fields, computed.Strip(p.Newest.Fields), p.Fields)
}

// emptiedIn counts the fields of an object that are empty in another one, or have their
// default there, at all depths.
func emptiedIn(fields []onto.Field, object, next []byte) (n int64) {
	for i := range fields {
		field := &fields[i]
		before := codec.Find(object, []string{field.Name})
		if before == nil || codec.KindOf(before) == codec.Null {
			continue
		}
		empty := field.Default
		if empty == nil && field.Type == onto.String {
			empty = []byte(`""`)
		}
		after := codec.Find(next, []string{field.Name})
		switch {
		case after == nil || !bytes.Equal(after, before) && bytes.Equal(after, empty):
			n++
		case field.Fields != nil && codec.KindOf(before) == codec.Object && codec.KindOf(after) == codec.Object:
			n += emptiedIn(field.Fields, before, after)
		}
	}
	return n
}

// restart resets the verdicts: all records are judged anew.
func (out *Outcome) restart() {
	out.Inserts, out.Updates, out.Unchanged, out.Deletes, out.Skipped, out.Conflicts = 0, 0, 0, 0, 0, 0
	out.Emptied = 0
}

// note lists a conflict if it is one of the first. Those whose line is not known come
// last.
func (out *Outcome) note(c Conflict) {
	line := func(c Conflict) uint64 { return uint64(c.Line) - 1 }
	i, _ := slices.BinarySearchFunc(out.First, c, func(a, b Conflict) int {
		return cmp.Or(cmp.Compare(line(a), line(b)), a.Identity.Compare(b.Identity))
	})
	if i == MaxConflicts {
		return
	}
	out.First = slices.Insert(out.First, i, c)
	out.First = out.First[:min(len(out.First), MaxConflicts)]
}

// admit is the verdict on one record under the write lock.
func (f *feed) admit(p store.Proposal) (bool, error) {
	v := f.opts.judge(&p)
	if f.count(v, &p) {
		return v.effect != skips, nil
	}
	c := f.conflict(p.Identity, f.seen.line(p.Identity), v.reason)
	return false, onto.Errorf(onto.Conflict, "%s", c).WithHint("%s", f.opts.hint(p.Identity.Kind))
}
