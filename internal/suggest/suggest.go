// Package suggest finds the name that a misspelled one stands for.
package suggest

import (
	"cmp"
	"slices"
	"strings"
)

// Name returns the candidate that is closest to name, or "" if none is
// close. It is for messages about misspelled names.
func Name(name string, candidates []string) string {
	best, bestDistance := "", len(name)/2+1
	for _, c := range candidates {
		if d := editDistance(strings.ToLower(name), strings.ToLower(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// Nearest returns the candidates, those that are closest to name first.
func Nearest(name string, candidates []string) []string {
	list := slices.Clone(candidates)
	distance := func(c string) int { return editDistance(strings.ToLower(name), strings.ToLower(c)) }
	slices.SortStableFunc(list, func(x, y string) int { return cmp.Compare(distance(x), distance(y)) })
	return list
}

// editDistance counts the insertions, removals and replacements that turn a into b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next := min(row[j+1]+1, row[j]+1, diagonal+cost)
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
