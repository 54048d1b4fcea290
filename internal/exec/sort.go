package exec

import (
	"iter"
	"math"
	"slices"
)

// reach returns how many of the first items a page needs; 0 for all.
func reach(offset, limit int) int {
	if limit == 0 || offset > math.MaxInt/4-limit {
		return 0
	}
	return offset + limit
}

// sorted yields the first items in the order of compare, keep of them or all
// if keep is 0. Equal items stay in the order they came in.
func sorted[T any](items iter.Seq2[T, error], compare func(a, b T) int, keep int) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		list, err := collect(items, compare, keep)
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		for _, item := range list {
			if !yield(item, nil) {
				return
			}
		}
	}
}

// collect returns the first items, sorted. It lets the list grow to twice what is kept,
// then sorts it and drops the rest, so that an item costs O(log keep), and less if it
// comes after all that are kept.
func collect[T any](items iter.Seq2[T, error], compare func(a, b T) int, keep int) ([]T, error) {
	var list []T
	full := false // the first keep items are sorted, and only items before the last of them matter
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		if full && compare(item, list[keep-1]) >= 0 {
			continue
		}
		list = append(list, item)
		if keep > 0 && len(list) == 2*keep {
			slices.SortStableFunc(list, compare)
			clear(list[keep:])
			list, full = list[:keep], true
		}
	}
	slices.SortStableFunc(list, compare)
	if keep > 0 && len(list) > keep {
		list = list[:keep]
	}
	return list, nil
}

// page leaves out the first items and yields at most limit of the others; all
// if limit is 0. It asks for no item that it does not need.
func page[T any](items iter.Seq2[T, error], offset, limit int) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		n := 0
		for item, err := range items {
			if err != nil {
				yield(item, err)
				return
			}
			if n++; n <= offset {
				continue
			}
			if !yield(item, nil) || limit > 0 && n-offset == limit {
				return
			}
		}
	}
}
