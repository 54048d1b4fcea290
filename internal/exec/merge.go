package exec

import (
	"cmp"
	"container/heap"
	"iter"
)

// Merge merges sequences, each of which is in order. Of values that are equal the
// one of the earlier sequence comes first. An error of any of them ends it.
func Merge[T any](sequences []iter.Seq2[T, error], compare func(a, b *T) int) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		nexts := make([]func() (T, error, bool), len(sequences))
		for i, s := range sequences {
			next, stop := iter.Pull2(s)
			defer stop()
			nexts[i] = next
		}
		merge(nexts, compare, yield)
	}
}

// merge yields in order what the functions return, one value after the other.
func merge[T any](nexts []func() (T, error, bool), compare func(a, b *T) int, yield func(T, error) bool) {
	h := &nextValues[T]{compare: compare}
	for i, next := range nexts {
		value, err, ok := next()
		if err != nil {
			yield(*new(T), err)
			return
		}
		if ok {
			h.list = append(h.list, nextValue[T]{value, i, next})
		}
	}
	heap.Init(h)
	for len(h.list) > 0 {
		value := h.list[0].value
		if !yield(value, nil) {
			return
		}
		if err := h.advance(); err != nil {
			yield(*new(T), err)
			return
		}
	}
}

// nextValues is a heap of the next value of each sequence.
type nextValues[T any] struct {
	compare func(a, b *T) int
	list    []nextValue[T]
}

type nextValue[T any] struct {
	value T
	order int // of the sequence
	next  func() (T, error, bool)
}

// advance replaces the least value by the next of its sequence.
func (h *nextValues[T]) advance() error {
	value, err, ok := h.list[0].next()
	switch {
	case err != nil:
		return err
	case ok:
		h.list[0].value = value
		heap.Fix(h, 0)
	default:
		heap.Pop(h)
	}
	return nil
}

// Len, Less, Swap, Push and Pop implement [heap.Interface].
func (h *nextValues[T]) Len() int { return len(h.list) }

func (h *nextValues[T]) Less(i, j int) bool {
	a, b := &h.list[i], &h.list[j]
	return cmp.Or(h.compare(&a.value, &b.value), cmp.Compare(a.order, b.order)) < 0
}

func (h *nextValues[T]) Swap(i, j int) { h.list[i], h.list[j] = h.list[j], h.list[i] }

func (h *nextValues[T]) Push(x any) { h.list = append(h.list, x.(nextValue[T])) }

func (h *nextValues[T]) Pop() any {
	last := h.list[len(h.list)-1]
	h.list = h.list[:len(h.list)-1]
	return last
}
