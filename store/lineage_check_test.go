package store_test

import (
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/store"
)

// Types that change in random ways, with history under each of their versions,
// give the answers of the model at every commit, typed and as stored, on every
// backend, before and after reopening. Programs with older and smaller types write and
// read beside the newest, as long as they can go on.
func TestLineages(t *testing.T) {
	turns := 12
	if effort.Thorough(t) {
		turns = 18
	}
	var mu sync.Mutex // guards the following
	questions, writes, ended := 0, 0, 0
	t.Cleanup(func() {
		t.Logf("%d questions; %d commits by programs with older and smaller types, %d such programs were ended by a change", questions, writes, ended)
	})
	for seed := range effort.Seeds(t, 100, 11834506600846500995) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			l, asked := newLineage(t, seed), 0
			for range turns {
				switch l.r.IntN(6) {
				case 0, 1:
					l.migrate()
				case 2, 3:
					l.write()
				default:
					l.startWriter()
					l.writeByWriters()
					l.writeByWriters()
				}
			}
			asked += l.checkWriters()
			for range 2 {
				for i, s := range l.stores {
					asked += l.check(fmt.Sprint("store ", i), s)
				}
				l.open() // again
			}
			l.close()
			mu.Lock()
			defer mu.Unlock()
			questions, writes, ended = questions+asked, writes+l.writes, ended+l.ended
		})
	}
}

// check compares every question at every commit.
func (l *lineage) check(name string, s *store.Store) int {
	ctx, n := l.t.Context(), 0
	same := func(what string, got, want []string) {
		l.t.Helper()
		if n++; !slices.Equal(got, want) {
			l.t.Fatalf("%s, %s, turns %+v:\ngot  %q\nwant %q", name, what, l.turns, got, want)
		}
	}
	for at := range l.head() + 1 {
		find := s.At(at).Find(l.schema.Name)
		same(fmt.Sprint("state at ", at), l.texts(find.All(ctx)), l.state(at, nil))
		for _, f := range l.schema.Fields {
			var value any = "1"
			if f.Type == onto.Int || f.Type == onto.Float {
				value = int64(1)
			}
			equal := func(fields map[string]any) bool { return fmt.Sprint(fields[f.Name]) == "1" }
			q := find.Where(onto.Path(f.Name).Eq(value))
			want := l.state(at, equal)
			same(fmt.Sprint(f.Name, " at ", at), l.texts(q.All(ctx)), want)
			count, err := q.Count(ctx)
			same(fmt.Sprint("count of ", f.Name, " at ", at), []string{fmt.Sprint(count, err)}, []string{fmt.Sprint(len(want), " <nil>")})
			same(fmt.Sprint("groups by ", f.Name, " at ", at), l.groups(find, f.Name), l.wantGroups(at, f.Name))
			l.samePages(find, f.Name, same)
		}
		for from := range at {
			same(fmt.Sprint("diff ", from, " ", at), l.diff(s, from, at), l.wantDiff(from, at))
		}
		same(fmt.Sprint("stored at ", at), l.stored(s, at), l.wantStored(at))
		same(fmt.Sprint("provenance at ", at), l.provenance(s.At(at), l.schema.Name), l.wantProvenance(at))
		for _, was := range l.past[at] { // all things have the name that the type had
			same(fmt.Sprint("provenance as stored at ", at), l.provenance(s.At(at).AsStored(), was.typ), l.wantProvenance(at))
			break
		}
		same(fmt.Sprint("blame at ", at), l.blame(s, at), l.wantBlame(at))
	}
	for key := range 4 {
		id := onto.EntityID(l.schema.Name, fmt.Sprint("k", key))
		same(fmt.Sprint("history of ", id), l.history(s, id), l.wantHistory(id.Key))
	}
	return n
}

func (l *lineage) texts(versions iter.Seq2[onto.Version, error]) (list []string) {
	for v, err := range versions {
		if err != nil {
			l.t.Fatal(err)
		}
		list = append(list, fmt.Sprint(v.Type, " ", v.Key, " ", v.Commit, " ", string(v.Fields)))
	}
	return list
}

// samePages reads an order page by page.
func (l *lineage) samePages(find store.Query[onto.Version], field string, same func(string, []string, []string)) {
	find = find.OrderBy(onto.Path(field).Desc()).Limit(2)
	whole, pages := l.texts(find.Limit(0).All(l.t.Context())), []string(nil)
	for cursor := ""; ; {
		page, err := find.After(cursor).Page(l.t.Context())
		if err != nil {
			l.t.Fatal(err)
		}
		for _, v := range page.Items {
			pages = append(pages, fmt.Sprint(v.Type, " ", v.Key, " ", v.Commit, " ", string(v.Fields)))
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	same("pages by "+field, pages, whole)
}

func (l *lineage) groups(find store.Query[onto.Version], field string) (list []string) {
	for g, err := range find.GroupBy(onto.Path(field)).Compute(onto.Count()).All(l.t.Context()) {
		if err != nil {
			l.t.Fatal(err)
		}
		by := string(g.By[0])
		if by == "" {
			by = "null"
		}
		list = append(list, by+" "+string(g.Values[0]))
	}
	slices.Sort(list)
	return list
}

func (l *lineage) wantGroups(at int64, field string) (list []string) {
	counts := map[string]int{}
	l.state(at, func(fields map[string]any) bool {
		by := "null"
		if v, has := fields[field]; has {
			by = text(map[string]any{"": v})
			by = by[len(`{"":`) : len(by)-1]
		}
		counts[by]++
		return true
	})
	for by, n := range counts {
		list = append(list, fmt.Sprint(by, " ", n))
	}
	slices.Sort(list)
	return list
}

func (l *lineage) diff(s *store.Store, from, to int64) (list []string) {
	for c, err := range s.Diff(l.t.Context(), store.DiffOptions{From: onto.AtCommit(from), To: onto.AtCommit(to)}) {
		if err != nil {
			l.t.Fatal(err)
		}
		list = append(list, c.String())
	}
	return list
}

func (l *lineage) wantDiff(from, to int64) (list []string) {
	for _, key := range []string{"k0", "k1", "k2", "k3"} {
		before, was := l.past[from][key]
		after, is := l.past[to][key]
		c := onto.Change{Identity: onto.EntityID(l.schema.Name, key)}
		if was {
			c.Before = &onto.Version{Op: onto.Put}
		}
		if is {
			c.After = &onto.Version{Op: onto.Put}
		}
		if (was || is) && (was != is || l.present(before, from) != l.present(after, to)) {
			list = append(list, c.String())
		}
	}
	return list
}

// stored reads what there is as of a commit, under whatever name.
func (l *lineage) stored(s *store.Store, at int64) (list []string) {
	view := s.At(at).AsStored()
	types, err := view.Types(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	for _, t := range types {
		if t.Kind == onto.KindEntity {
			list = append(list, l.texts(view.Find(t.Name).All(l.t.Context()))...)
		}
	}
	slices.Sort(list)
	return list
}

func (l *lineage) wantStored(at int64) (list []string) {
	for key, was := range l.past[at] {
		list = append(list, fmt.Sprint(was.typ, " ", key, " ", was.commit, " ", text(was.fields)))
	}
	slices.Sort(list)
	return list
}

func (l *lineage) history(s *store.Store, id onto.Identity) (list []string) {
	for e, err := range s.History(l.t.Context(), id) {
		if onto.CodeOf(err) == onto.NotFound {
			return nil
		}
		if err != nil {
			l.t.Fatal(err)
		}
		list = append(list, fmt.Sprint(e.Commit.ID, " ", e.Version.Op, " ", e.Version.Type, " ", string(e.Version.Fields)))
	}
	return list
}

func (l *lineage) wantHistory(key string) (list []string) {
	var last thing
	lived := false
	for at := range l.past {
		is, lives := l.past[at][key]
		switch {
		case lives && (!lived || is.commit != last.commit):
			list = append(list, fmt.Sprint(at, " put ", l.schema.Name, " ", l.present(is, int64(at))))
		case lived && !lives:
			list = append(list, fmt.Sprint(at, " delete ", l.schema.Name, " {}"))
		}
		last, lived = is, lives
	}
	return list
}
