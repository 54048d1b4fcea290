package audit

import (
	"cmp"
	"maps"
	"slices"
)

// tallyPage is how many commits a page of a tally is about.
const tallyPage = 1024

// tallyLone is how many versions of missing commits are counted separately.
const tallyLone = 1024

// Tally is how many versions of each commit were not found yet. It holds pages for the
// commits that were added to.
type Tally struct {
	pages  map[int64]*[tallyPage]int32
	lone   int    // pages that were made for versions, and not for commits
	hidden []span // commits whose numbers are unknown because of damage
}

// span is a range of commits.
type span struct{ first, last int64 }

// Add adds to the number of a commit.
func (t *Tally) Add(commit int64, n int) {
	if t.pages == nil {
		t.pages = map[int64]*[tallyPage]int32{}
	}
	page := t.pages[commit/tallyPage]
	if page == nil && n < 0 { // no commit of the log is near
		if t.lone++; t.lone > tallyLone {
			return
		}
	}
	if page == nil {
		page = new([tallyPage]int32)
		t.pages[commit/tallyPage] = page
	}
	page[commit%tallyPage] += int32(n)
}

// Hide notes that the numbers of commits are unknown.
func (t *Tally) Hide(first, last int64) {
	if first <= last {
		t.hidden = append(t.hidden, span{first, last})
	}
}

// each calls a function with every commit whose number is known and not 0, in
// their order.
func (t *Tally) each(do func(commit int64, n int) error) error {
	slices.SortFunc(t.hidden, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	hidden, end := t.hidden, int64(0)
	for _, number := range slices.Sorted(maps.Keys(t.pages)) {
		for i, n := range t.pages[number] {
			commit := number*tallyPage + int64(i)
			for len(hidden) > 0 && hidden[0].first <= commit {
				end = max(end, hidden[0].last)
				hidden = hidden[1:]
			}
			if n == 0 || commit <= end {
				continue
			}
			if err := do(commit, int(n)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Tally finds commits that do not hold as many versions as they were made with.
func (l Log) Tally(t *Tally) error {
	return t.each(func(commit int64, n int) error { return l.Operations(commit, int64(n), 0) })
}
