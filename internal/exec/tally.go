package exec

import (
	"encoding/json"
	"math/big"
	"strconv"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/internal/codec"
)

// tally computes one aggregate over the versions of a group.
type tally interface {
	add(r *filter.Row, o onto.Operand)
	result() (value json.RawMessage, fits bool) // nil for null
}

// newTally returns nil for an aggregate that does not exist.
func newTally(f onto.Func) tally {
	switch f {
	case onto.FuncCount:
		return new(count)
	case onto.FuncCountDistinct:
		return distinct{}
	case onto.FuncSum:
		return new(sum)
	case onto.FuncAvg:
		return new(average)
	case onto.FuncMin:
		return &extreme{sign: -1}
	case onto.FuncMax:
		return &extreme{sign: 1}
	case onto.FuncAvgLen:
		return new(averageLength)
	}
	return nil
}

type count int64

func (c *count) add(*filter.Row, onto.Operand) { *c++ }

func (c *count) result() (json.RawMessage, bool) { return strconv.AppendInt(nil, int64(*c), 10), true }

// distinct is the different values, which have different canonical texts.
type distinct map[string]struct{}

func (d distinct) add(r *filter.Row, o onto.Operand) {
	if v := r.Value(o); v != nil {
		if _, known := d[string(v)]; !known {
			d[string(v)] = struct{}{}
		}
	}
}

func (d distinct) result() (json.RawMessage, bool) {
	return strconv.AppendInt(nil, int64(len(d)), 10), true
}

// sum adds integers exactly and other numbers as float64, separately.
type sum struct {
	low          int64   // of integers, as long as they fit
	high         big.Int // of integers: the carry out of low
	floats       float64
	ints, others int64 // how many of each
}

func (s *sum) add(r *filter.Row, o onto.Operand) {
	v := r.Value(o)
	if v == nil {
		return
	}
	switch codec.KindOf(v) {
	case codec.Int:
		n, _ := strconv.ParseInt(string(v), 10, 64) // canonical, so it fits
		s.addInt(n)
	case codec.Float:
		f, _ := strconv.ParseFloat(string(v), 64)
		s.floats += f
		s.others++
	}
}

func (s *sum) addInt(n int64) {
	s.ints++
	if total := s.low + n; (total > s.low) == (n > 0) {
		s.low = total
		return
	}
	s.high.Add(&s.high, big.NewInt(s.low))
	s.low = n
}

// integers returns the sum of the integers.
func (s *sum) integers() *big.Int { return new(big.Int).Add(&s.high, big.NewInt(s.low)) }

// total returns the sum of all numbers.
func (s *sum) total() float64 {
	f, _ := new(big.Float).SetInt(s.integers()).Float64()
	return f + s.floats
}

func (s *sum) result() (json.RawMessage, bool) {
	if s.ints+s.others == 0 {
		return nil, true
	}
	if s.others > 0 {
		return number(s.total())
	}
	n := s.integers()
	return n.Append(nil, 10), n.IsInt64()
}

type average struct{ sum }

func (a *average) result() (json.RawMessage, bool) {
	n := a.ints + a.others
	if n == 0 {
		return nil, true
	}
	return number(a.total() / float64(n))
}

// number is the canonical text of a float64, if it is finite.
func number(f float64) (json.RawMessage, bool) {
	text, err := codec.AppendFloat(nil, f)
	return text, err == nil
}

// extreme is the value that comes first or last in the order of onto.Order.
type extreme struct {
	sign int // -1 for the least, 1 for the greatest
	best json.RawMessage
}

func (e *extreme) add(r *filter.Row, o onto.Operand) {
	v := r.Value(o)
	if v == nil || codec.KindOf(v) == codec.List || codec.KindOf(v) == codec.Object {
		return
	}
	if e.best == nil || filter.Compare(v, e.best)*e.sign > 0 {
		e.best = append(e.best[:0], v...)
	}
}

func (e *extreme) result() (json.RawMessage, bool) { return e.best, true }

type averageLength struct{ lists, elements int64 }

func (a *averageLength) add(r *filter.Row, o onto.Operand) {
	if v := r.Value(o); v != nil && codec.KindOf(v) == codec.List {
		a.lists++
		for range codec.Elements(v) {
			a.elements++
		}
	}
}

func (a *averageLength) result() (json.RawMessage, bool) {
	if a.lists == 0 {
		return nil, true
	}
	return number(float64(a.elements) / float64(a.lists))
}
