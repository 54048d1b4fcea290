// Package bitemporal decides which facts on one attribute speak: at a time, during a
// period, and over all of time. It knows the facts of one moment of the log and reads
// nothing. Times are in their stored form, whose order as texts is that of the times.
package bitemporal

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// Period is the time from From on and before Until; "" is no bound.
type Period struct{ From, Until string }

// Holds reports whether a time is in the period.
func (p Period) Holds(at string) bool { return holds(p.From, p.Until, at) }

func holds[T string | []byte](from, until T, at string) bool {
	return string(from) <= at && (len(until) == 0 || at < string(until))
}

// Cut returns what a period has in common with another one, and whether that is
// anything.
func (p Period) Cut(o Period) (Period, bool) {
	p.From = max(p.From, o.From)
	if p.Until == "" || o.Until != "" && o.Until < p.Until {
		p.Until = o.Until
	}
	return p, p.Until == "" || p.From < p.Until
}

// Claim is what decides whether a fact speaks.
type Claim struct {
	Period         // when it holds
	Asserted int64 // the commit that asserted it
	Seq      int64 // its place among the facts of that commit
	ID       string
}

// Read reads the claim of a version of a fact. It reads only what it needs, out of
// canonical JSON.
func Read(v *onto.Version) Claim {
	c, from, until := read(v)
	c.From, c.Until = string(from), string(until)
	return c
}

// ReadAt reads the claim of a version of a fact without its period, and whether it holds
// at a time.
func ReadAt(v *onto.Version, at string) (Claim, bool) {
	c, from, until := read(v)
	return c, holds(from, until, at)
}

// read reads a claim and its period, which aliases the version.
func read(v *onto.Version) (c Claim, from, until []byte) {
	c = Claim{Asserted: v.Commit, ID: v.Instance}
	for name, value := range codec.Pairs(v.Fields) {
		switch string(name) {
		case onto.FactFrom:
			from = text(value)
		case onto.FactUntil:
			until = text(value)
		case onto.FactSeq:
			c.Seq = number(value, 0)
		case onto.FactAsserted:
			c.Asserted = number(value, v.Commit)
		}
	}
	return c, from, until
}

// text is a time; empty for null.
func text(value []byte) []byte {
	if len(value) < 2 || value[0] != '"' {
		return nil
	}
	return value[1 : len(value)-1] // a time needs no escapes
}

func number(value []byte, otherwise int64) int64 {
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		return otherwise
	}
	return n
}

// Compare orders claims by who speaks: the later one does.
func (c Claim) Compare(o Claim) int {
	return cmp.Or(cmp.Compare(c.Asserted, o.Asserted), cmp.Compare(c.Seq, o.Seq), strings.Compare(c.ID, o.ID))
}

// Sorted returns the places of claims, in the order in which these were asserted.
func Sorted(claims []Claim) []int {
	places := make([]int, len(claims))
	for i := range places {
		places[i] = i
	}
	slices.SortFunc(places, func(a, b int) int { return claims[a].Compare(claims[b]) })
	return places
}
