// Package facttest compares what a store says of facts with a model of them, which is a
// list of rows that is searched from its start to its end for every answer.
package facttest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ontologia/onto"
)

// row is what one draft said of one fact.
type row struct {
	commit int64
	verb   string // assert, revoke, retract; or rewrite, all facts of the type or on the attribute
	onto.Identity

	// An assertion.
	seq         int64
	number      int // told apart by it; the value is made of it
	from, until time.Time

	// A revocation.
	at   time.Time
	note any
}

// model is all that was said, and when.
type model struct {
	rows  []row
	times []time.Time // of the commits; 0 is the empty store
}

// fact is a fact as it is believed after a commit.
type fact struct {
	row
	changed int64 // by which commit last
	revoked any
}

func (f *fact) holds(at time.Time) bool {
	return (f.from.IsZero() || !at.Before(f.from)) && (f.until.IsZero() || at.Before(f.until))
}

// later reports whether the fact speaks in place of another one.
func (f *fact) later(o *fact) bool {
	switch {
	case f.commit != o.commit:
		return f.commit > o.commit
	case f.seq != o.seq:
		return f.seq > o.seq
	}
	return f.Instance > o.Instance
}

func many(attribute string) bool { return attribute == "tags" }

// value is the value of an attribute that a number stands for.
func value(attribute string, number int) any {
	switch attribute {
	case "name", "tags":
		return fmt.Sprintf("%s%04d", attribute[:1], number)
	}
	return int64(number)
}

// believed returns the facts of a type that are believed after a commit, in order of
// identity.
func (m *model) believed(typ string, commit int64) []fact {
	var list []fact
	for _, r := range m.rows {
		if r.verb != "assert" || r.commit > commit || r.Type != typ {
			continue
		}
		f, gone := fact{row: r, changed: r.commit}, false
		for _, o := range m.rows {
			if o.verb == "rewrite" && o.Type == typ && (o.Right == "" || o.Right == r.Right) && o.commit > r.commit && o.commit <= commit {
				f.changed = o.commit
			}
			if o.Identity != r.Identity || o.commit > commit {
				continue
			}
			switch o.verb {
			case "revoke":
				f.until, f.changed, f.revoked = o.at, o.commit, o.note
			case "retract":
				gone = true
			}
		}
		if !gone {
			list = append(list, f)
		}
	}
	slices.SortFunc(list, func(a, b fact) int {
		return cmp.Or(strings.Compare(a.Left, b.Left), strings.Compare(a.Right, b.Right), strings.Compare(a.Instance, b.Instance))
	})
	return list
}

// speaking returns those of the facts that speak at a time.
func speaking(list []fact, at time.Time) []fact {
	var spoken []fact
	for _, f := range list {
		if f.holds(at) && !slices.ContainsFunc(list, func(o fact) bool {
			return o.Left == f.Left && o.Right == f.Right && !many(f.Right) && o.holds(at) && o.later(&f)
		}) {
			spoken = append(spoken, f)
		}
	}
	return spoken
}

// window is a period; zero times are no bounds.
type window struct{ from, until time.Time }

// moments returns a time in each of the periods between bounds of facts, and the bounds
// themselves: nothing changes between one and the next.
func moments(list []fact, w window) []span {
	var bounds []time.Time
	for _, f := range list {
		bounds = append(bounds, f.from, f.until)
	}
	bounds = append(bounds, w.from, w.until)
	bounds = slices.DeleteFunc(bounds, time.Time.IsZero)
	slices.SortFunc(bounds, time.Time.Compare)
	bounds = slices.CompactFunc(bounds, time.Time.Equal)
	if len(bounds) == 0 {
		return []span{{sample: time.Unix(0, 0)}}
	}
	spans := []span{{until: bounds[0], sample: bounds[0].Add(-time.Hour)}}
	for i, b := range bounds {
		s := span{from: b, sample: b}
		if i+1 < len(bounds) {
			s.until = bounds[i+1]
		}
		spans = append(spans, s)
	}
	return slices.DeleteFunc(spans, func(s span) bool {
		return !w.from.IsZero() && s.sample.Before(w.from) || !w.until.IsZero() && !s.sample.Before(w.until)
	})
}

// span is a period during which no fact begins or ends.
type span struct{ from, until, sample time.Time }

// during returns those of the facts that speak at some moment of a period.
func during(list []fact, w window) []fact {
	var spoken []fact
	for _, f := range list {
		if slices.ContainsFunc(moments(list, w), func(s span) bool {
			return slices.ContainsFunc(speaking(list, s.sample), func(o fact) bool { return o.Identity == f.Identity })
		}) {
			spoken = append(spoken, f)
		}
	}
	return spoken
}

// overlapping returns those of the facts that hold at some moment of a period.
func overlapping(list []fact, w window) []fact {
	var kept []fact
	for _, f := range list {
		before := !w.from.IsZero() && !f.until.IsZero() && !f.until.After(w.from)
		after := !w.until.IsZero() && !f.from.IsZero() && !f.from.Before(w.until)
		if !before && !after {
			kept = append(kept, f)
		}
	}
	return kept
}

// segment is a part of a timeline; its fact is nil in a gap.
type segment struct {
	from, until time.Time
	fact        *fact
}

// timeline returns who speaks when. All facts are on one attribute of one subject.
func timeline(list []fact, w *window, gaps bool) []segment {
	within := window{}
	if w != nil {
		within = *w
	}
	var all []segment
	for _, s := range moments(list, within) {
		spoken := speaking(list, s.sample)
		slices.SortFunc(spoken, func(a, b fact) int {
			if a.later(&b) {
				return 1
			}
			return -1
		})
		for _, f := range spoken {
			all = prolong(all, s, &f)
		}
		if len(spoken) == 0 {
			all = prolong(all, s, nil)
		}
	}
	isGap := func(s segment) bool { return s.fact == nil }
	if !gaps {
		return slices.DeleteFunc(all, isGap)
	}
	if w == nil {
		for len(all) > 0 && isGap(all[0]) {
			all = all[1:]
		}
		for len(all) > 0 && isGap(all[len(all)-1]) {
			all = all[:len(all)-1]
		}
	}
	return all
}

// prolong makes the segment of a fact, or a gap, longer by a span, or begins one.
func prolong(all []segment, s span, f *fact) []segment {
	for i := range all {
		same := all[i].fact == nil && f == nil || all[i].fact != nil && f != nil && all[i].fact.Identity == f.Identity
		if same && !all[i].until.IsZero() && all[i].until.Equal(s.from) {
			all[i].until = s.until
			return all
		}
	}
	return append(all, segment{s.from, s.until, f})
}
