package bitemporal

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
)

// Gap is in place of a claim where none speaks.
const Gap = -1

// Segment is a period during which the same claim speaks.
type Segment struct {
	Period
	Claim int // the place in the list of claims; Gap if none speaks
}

// Timeline returns who speaks when within a period, in order of time, without gaps.
// Claims do not override each other if the attribute has many values: each has a segment
// then.
func Timeline(claims []Claim, many bool, within Period) []Segment {
	if many {
		return timelineOfMany(claims, within)
	}
	return cut(timeline(claims), within)
}

func timelineOfMany(claims []Claim, within Period) []Segment {
	list := make([]Segment, len(claims))
	for i, c := range claims {
		list[i] = Segment{c.Period, i}
	}
	list = cut(list, within)
	slices.SortFunc(list, func(a, b Segment) int {
		return cmp.Or(strings.Compare(a.From, b.From), claims[a.Claim].Compare(claims[b.Claim]))
	})
	return list
}

func cut(list []Segment, within Period) []Segment {
	kept := list[:0]
	for _, s := range list {
		if p, any := s.Cut(within); any {
			kept = append(kept, Segment{p, s.Claim})
		}
	}
	return kept
}

// timeline goes through the times at which a claim begins or ends. Of the claims that
// have begun, the one that speaks is at the top of a heap; those that have ended are
// removed when they get there.
func timeline(claims []Claim) []Segment {
	begun := speakers{claims: claims}
	next := make([]int, len(claims)) // in order of their begin
	var times []string
	for i, c := range claims {
		next[i] = i
		times = append(times, c.From)
		if c.Until != "" {
			times = append(times, c.Until)
		}
	}
	slices.SortFunc(next, func(a, b int) int { return strings.Compare(claims[a].From, claims[b].From) })
	slices.Sort(times)
	var list []Segment
	for _, at := range slices.Compact(times) {
		for len(next) > 0 && claims[next[0]].From == at {
			heap.Push(&begun, next[0])
			next = next[1:]
		}
		for begun.Len() > 0 && !claims[begun.list[0]].Holds(at) {
			heap.Pop(&begun)
		}
		speaks := Gap
		if begun.Len() > 0 {
			speaks = begun.list[0]
		}
		if last := len(list) - 1; last >= 0 && list[last].Until == "" {
			if list[last].Claim == speaks {
				continue
			}
			list[last].Until = at
		}
		if speaks != Gap {
			list = append(list, Segment{Period{From: at}, speaks})
		}
	}
	return list
}

// speakers is a heap of claims, the one that speaks first.
type speakers struct {
	claims []Claim
	list   []int
}

func (s *speakers) Len() int           { return len(s.list) }
func (s *speakers) Less(i, j int) bool { return s.claims[s.list[i]].Compare(s.claims[s.list[j]]) > 0 }
func (s *speakers) Swap(i, j int)      { s.list[i], s.list[j] = s.list[j], s.list[i] }
func (s *speakers) Push(claim any)     { s.list = append(s.list, claim.(int)) }
func (s *speakers) Pop() any {
	last := len(s.list) - 1
	claim := s.list[last]
	s.list = s.list[:last]
	return claim
}

// WithGaps adds to the segments of an attribute, in order of time, those where nothing
// speaks: between the first and the last, or in all of a period.
func WithGaps(list []Segment, within *Period) []Segment {
	if within == nil && len(list) == 0 {
		return nil
	}
	var all []Segment
	var reached string // nothing before it is a gap
	open := true       // whether time goes on after it
	if within != nil {
		reached = within.From
	} else {
		reached = list[0].From
	}
	for _, s := range list {
		if open && reached < s.From {
			all = append(all, Segment{Period{reached, s.From}, Gap})
		}
		all = append(all, s)
		if open = open && s.Until != ""; open {
			reached = max(reached, s.Until)
		}
	}
	if within != nil && open && (within.Until == "" || reached < within.Until) {
		all = append(all, Segment{Period{reached, within.Until}, Gap})
	}
	return all
}

// Speaking returns the claims that speak at some moment of a period, in their order.
func Speaking(claims []Claim, many bool, within Period) []int {
	var list []int
	for _, s := range Timeline(claims, many, within) {
		list = append(list, s.Claim)
	}
	slices.Sort(list)
	return slices.Compact(list)
}
