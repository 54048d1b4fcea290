package store

import (
	"context"
	"iter"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/bitemporal"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/store/internal/factread"
)

// Segment is a period during which one fact speaks on an attribute of a subject, or none
// does.
type Segment struct {
	Subject     string
	Attribute   string
	From, Until time.Time // from From on, before Until; zero for no bound
	Fact        onto.Fact // whole: it may hold longer than the segment; zero in a gap
	Gap         bool      // nothing speaks
}

// Timeline yields who speaks when, by subject, attribute and time: over all of time, or
// [Facts.During] a period, whatever the valid time of the view is. Facts on an attribute
// with many values have a segment each.
func (f Facts) Timeline(ctx context.Context) iter.Seq2[Segment, error] {
	switch {
	case f.every:
		return failed[Segment](onto.Errorf(onto.Invalid, "a timeline shows only facts that speak").
			WithHint("leave out Every, or use All"))
	case f.q.cursor != "":
		return failed[Segment](onto.Errorf(onto.Invalid, "a timeline has no cursor"))
	}
	given := f.during
	if given == nil {
		f.during = &period{} // all of time
	}
	return anew(func() (iter.Seq2[Segment, error], error) {
		r, err := f.start(ctx)
		if err != nil {
			return nil, err
		}
		r.Spans, r.Whole = true, f.gaps
		t := timeline{r, f.gaps, nil}
		if given != nil {
			t.gapsIn = &r.Within
		}
		return first(f.q.limit, t.segments(ctx)), nil
	})
}

// timeline is a timeline that is read.
type timeline struct {
	*factReader
	gaps   bool
	gapsIn *bitemporal.Period // nil for between the first segment and the last
}

func (t timeline) segments(ctx context.Context) iter.Seq2[Segment, error] {
	return func(yield func(Segment, error) bool) {
		for g, err := range t.Groups(ctx) {
			if err != nil {
				yield(Segment{}, err)
				return
			}
			for _, s := range t.Segments(g, t.gaps, t.gapsIn) {
				segment, err := segmentOf(g, s)
				if !yield(segment, err) || err != nil {
					return
				}
			}
		}
	}
}

func segmentOf(g *factread.Group, s bitemporal.Segment) (Segment, error) {
	segment := Segment{Subject: g.Facts[0].Left, Attribute: g.Facts[0].Right, Gap: s.Claim == bitemporal.Gap}
	var err error
	if segment.From, err = parsed(s.From); err == nil {
		segment.Until, err = parsed(s.Until)
	}
	if err == nil && !segment.Gap {
		segment.Fact, err = onto.FactOf(&g.Facts[s.Claim])
	}
	return segment, err
}

// parsed is the time that a stored form stands for; zero for none.
func parsed(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := codec.ParseTime(text)
	if err != nil {
		err = onto.Errorf(onto.Corrupt, "a fact has the bound %q: %w", text, err)
	}
	return t, err
}
