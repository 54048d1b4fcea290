package archive

import (
	"context"
	"encoding/json"
	"math"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/typelist"
)

// timeline is every version of every type, in the order of Schemas.
type timeline []onto.SchemaVersion

// readTypes returns the head of a log, or the given commit before it, with the types as of
// then. Upgraders and flags are always those of the present.
func readTypes(ctx context.Context, from backend.LogSource, until int64) (types timeline, end int64, err error) {
	for attempt := 1; ; attempt++ {
		before, err := from.LogHead(ctx)
		if err != nil {
			return nil, 0, err
		}
		types, err := from.Schemas(ctx)
		if err != nil {
			return nil, 0, err
		}
		after, err := from.LogHead(ctx)
		if err != nil {
			return nil, 0, err
		}
		end := before
		switch {
		case until > before:
			return nil, 0, onto.Errorf(onto.NotFound, "the source has no commit %d, its newest is commit %d", until, before).WithHint("copy all of it, or up to a commit that it has")
		case until > 0:
			end = until
		}
		if after == end {
			return types, end, nil
		}
		// A type that is added after the last commit has Since = end + 1, so it is left out.
		if until > 0 || attempt == attempts {
			return timeline(types).at(end), end, nil
		}
	}
}

// at returns the types as they were when a commit had been made, but for upgraders and
// flags.
func (all timeline) at(commit int64) timeline {
	var list timeline
	for _, v := range all {
		if v.Since > commit {
			continue
		}
		if v.End != nil && v.End.Commit > commit {
			v.End = nil
		}
		list = append(list, v)
	}
	return list
}

// change returns the first commit after one that changes types.
func (all timeline) change(after int64) int64 {
	next := int64(math.MaxInt64)
	for i := range all {
		v := &all[i]
		if v.Since > after {
			next = min(next, v.Since)
		}
		if v.End != nil && v.End.Commit > after {
			next = min(next, v.End.Commit)
		}
	}
	return next
}

func purged(v *onto.SchemaVersion) bool { return v.End != nil && v.End.Purged }

// purged reports whether a version of a type is there and purged.
func (all timeline) purged(v *onto.SchemaVersion) bool {
	i, ok := slices.BinarySearchFunc(all, *v, typelist.Compare)
	return !ok || purged(&all[i])
}

// row is a version of a type as the sum of types has it.
func row(v *onto.SchemaVersion) []byte {
	var b encoder
	b.text(string(v.Schema.Kind))
	b.text(v.Schema.Name)
	b.number(int64(v.Version))
	b.text(string(v.Schema.JSON()))
	b.number(v.Since)
	b.time(v.Created)
	b.text(v.Runtime)
	b.text(v.Reason)
	b.text(string(v.Actor.Kind))
	b.text(v.Actor.ID)
	b.text(v.Comment)
	b.text(document(v.Upgrader))
	b.text(document(v.Learned))
	b.text(document(v.End))
	return b
}

// document is what is known as JSON; "" for nothing.
func document[T any](p *T) string {
	if p == nil {
		return ""
	}
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // texts, numbers and times
	}
	return string(text)
}

// sum returns the sum of types.
func (all timeline) sum() chain {
	h := seed("onto/copy/types/1")
	for i := range all {
		h = h.add(row(&all[i]))
	}
	return h
}

// difference names the first version of a type in which two lists differ.
func (all timeline) difference(other timeline) *Difference {
	for i := range min(len(all), len(other)) {
		a, b := &all[i], &other[i]
		switch order := typelist.Compare(*a, *b); {
		case order < 0:
			return &Difference{Type: a.Schema.TypeName(), Version: a.Version, What: Missing}
		case order > 0:
			return &Difference{Type: b.Schema.TypeName(), Version: b.Version, What: Extra}
		case string(row(a)) != string(row(b)):
			return &Difference{Type: a.Schema.TypeName(), Version: a.Version, What: Differs}
		}
	}
	switch n := min(len(all), len(other)); {
	case len(all) > n:
		return &Difference{Type: all[n].Schema.TypeName(), Version: all[n].Version, What: Missing}
	case len(other) > n:
		return &Difference{Type: other[n].Schema.TypeName(), Version: other[n].Version, What: Extra}
	}
	return nil
}
