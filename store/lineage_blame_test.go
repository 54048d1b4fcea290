package store_test

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// blame asks who set each field of all things as of a commit.
func (l *lineage) blame(s *store.Store, at int64) (list []string) {
	for key := range 4 {
		id := onto.EntityID(l.schema.Name, fmt.Sprint("k", key))
		fields, err := s.At(at).Blame(l.t.Context(), id)
		if onto.CodeOf(err) == onto.NotFound {
			continue
		}
		if err != nil {
			l.t.Fatal(err)
		}
		for _, b := range fields {
			list = append(list, fmt.Sprintf("%s %s %s by %d, migration %t", id.Key, b.Field, b.Value, b.Commit.ID, b.Migration != nil))
		}
	}
	return list
}

// author is who set a field of the model.
type author struct {
	commit    int64
	migration bool
}

// wantBlame follows each thing through writes and turns.
func (l *lineage) wantBlame(at int64) (list []string) {
	for _, key := range []string{"k0", "k1", "k2", "k3"} {
		fields, by, done := map[string]any(nil), map[string]author{}, 0
		turn := func(until int64) {
			for ; done < len(l.turns) && l.turns[done].since <= until; done++ {
				if t := l.turns[done]; fields != nil {
					if l.past[t.commit][key].commit != t.commit { // it did not write this one
						t.commit = 0
					}
					fields, by = t.blame(fields, by)
				}
			}
		}
		for c := int64(1); c <= at; c++ {
			turn(c)
			is, lives := l.past[c][key]
			if !lives {
				fields = nil
				continue
			}
			now := map[string]author{}
			for name, value := range is.fields {
				now[name] = author{commit: c}
				if was, has := fields[name]; has && was == value {
					now[name] = by[name]
				}
			}
			fields, by = is.fields, now
		}
		turn(l.head() + 1)
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			value := text(map[string]any{"": fields[name]})
			list = append(list, fmt.Sprintf("%s %s %s by %d, migration %t", key, name, value[len(`{"":`):len(value)-1], by[name].commit, by[name].migration))
		}
	}
	return list
}

// blame is what a turn makes of fields and of who set them.
func (t *turn) blame(fields map[string]any, by map[string]author) (map[string]any, map[string]author) {
	made, now := maps.Clone(fields), map[string]author{}
	t.turn(made)
	for name, value := range made {
		from := name
		if old, moved := t.moved[name]; moved {
			from = old
		}
		now[name] = author{t.commit, true}
		if was, has := fields[from]; has && was == value {
			now[name] = by[from]
		}
	}
	return made, now
}
