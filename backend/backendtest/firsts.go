package backendtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func firstsStories() []tale {
	return []tale{
		{"a life begins after the last delete", cities().of(firstsOfLives)},
		{"a life of a relation begins after the last delete", visits().of(firstsOfLives)},
		{"a life of a fact begins after the last delete", claims().of(firstsOfLives)},
		{"lives of one stream and of one group", firstsOfStreams},
		{"lives of a type that is renamed", cities().of(firstsOfRenamed)},
		{"lives of facts whose type is renamed", claims().of(firstsOfRenamed)},
		{"lives of a type that is purged and begins again", firstsOfPurged},
		{"lives of many identities", firstsOfMany},
		{"certain commits", certainCommits},
	}
}

// firsts formats when the lives of identities began as of a commit.
func firsts(ctx context.Context, b backend.Backend, at int64, ids ...onto.Identity) (string, error) {
	if len(ids) == 0 {
		return "", nil
	}
	asked := slices.Clone(ids)
	list, err := b.Firsts(ctx, &backend.FirstsQuery{Kind: ids[0].Kind, Type: ids[0].Type, IDs: asked, At: at})
	if !slices.Equal(asked, ids) {
		return "", fmt.Errorf("the query was changed to %v", asked)
	}
	return strings.Trim(fmt.Sprint(list), "[]"), err
}

// wantFirsts compares when the lives of identities began, commit by commit from 0 on; the
// last is that of the head as well.
func (s *story) wantFirsts(ids []onto.Identity, want ...string) {
	s.Helper()
	ask := func(at int64, want string) {
		s.Helper()
		got, err := firsts(s.ctx, s, at, ids...)
		s.must(err)
		s.want(fmt.Sprintf("firsts as of %d", at), got, want)
	}
	for at, w := range want {
		ask(int64(at), w)
	}
	ask(int64(len(want)), want[len(want)-1]) // after the newest
	ask(backend.Head, want[len(want)-1])
}

func firstsOfLives(s *story, of variety) {
	ids := []onto.Identity{of.one("a"), of.one("b"), of.one("never")}
	a, b := ids[0], ids[1]
	s.wantFirsts(ids, "0 0 0")
	s.commit(put(a, 1))
	s.commit(put(a, 2), put(b, 1))
	s.commit(remove(a))
	s.wantFirsts(ids, "0 0 0", "1 0 0", "1 2 0", "0 2 0")
	s.commit(put(b, 2))
	s.commit(put(a, 2))
	s.commit(put(a, 3))
	s.commit(remove(a), remove(b))
	s.commit(put(b, 3))
	want := []string{"0 0 0", "1 0 0", "1 2 0", "0 2 0", "0 2 0", "5 2 0", "5 2 0", "0 0 0", "0 8 0"}
	s.wantFirsts(ids, want...)
	s.nothing(draft(put(b, 3), remove(a)))
	s.reopen()
	s.wantFirsts(ids, want...)
	s.wantFirsts(ids[2:], strings.Split(strings.Repeat("0 ", 9)+"0", " ")[:9]...)
	if r, ok := backend.As[backend.Rebuilder](s.Backend); ok {
		_, err := r.RebuildProjection(s.ctx, nil)
		s.must(err)
		s.wantFirsts(ids, want...)
		s.commit(put(b, 4))
		s.commit(put(a, 4))
		s.wantFirsts(ids, append(want, "0 8 0", "10 8 0")...)
	}
	got, err := s.Firsts(s.ctx, &backend.FirstsQuery{Kind: of.Kind, Type: of.Name, At: backend.Head})
	if err != nil || len(got) != 0 {
		s.Errorf("of no identities: got %v, error %v", got, err)
	}
}

func firstsOfStreams(s *story) {
	ids := []onto.Identity{city("a"), city("b")}
	s.stream(draft(), put(city("a"), 1), put(city("b"), 1))
	s.stream(draft(), remove(city("a")), put(city("b"), 2))
	s.stream(draft(), put(city("a"), 1), remove(city("b")))
	s.stream(draft(), put(city("a"), 2), put(city("b"), 2))
	s.wantFirsts(ids, "0 0", "1 1", "0 1", "3 0", "3 4")
	done := make(chan error)
	const n = 30
	for i := range n { // a group may delete and create in one transaction
		go func() {
			_, err := s.Append(s.ctx, draft(remove(city("a")), put(city("b"), 100+i)))
			if err == nil {
				_, err = s.Append(s.ctx, draft(put(city("a"), 100+i), remove(city("b"))))
			}
			done <- err
		}()
	}
	for range n {
		s.must(<-done)
	}
	s.wantLives(onto.TypeName{Kind: onto.KindEntity, Name: tCity}, ids)
}

// wantLives compares when lives began with what history says, as of each commit.
func (s *story) wantLives(t onto.TypeName, ids []onto.Identity) {
	s.Helper()
	began := map[onto.Identity]int64{}
	var versions []onto.Version
	for v, err := range s.Scan(s.ctx, historyOf(t.Kind, t.Name, backend.Head)) {
		s.must(err)
		versions = append(versions, v)
	}
	for at := range s.resolve(onto.Point{}).ID + 1 {
		for ; len(versions) > 0 && versions[0].Commit <= at; versions = versions[1:] {
			switch v := versions[0]; {
			case !v.Live():
				delete(began, v.Identity)
			case began[v.Identity] == 0:
				began[v.Identity] = v.Commit
			}
		}
		var want []int64
		for _, id := range ids {
			want = append(want, began[id])
		}
		got, err := firsts(s.ctx, s, at, ids...)
		s.must(err)
		s.want(fmt.Sprintf("firsts as of %d", at), got, strings.Trim(fmt.Sprint(want), "[]"))
	}
}

func firstsOfRenamed(s *story, of variety) {
	town, schema := of.renamed("Town")
	before, after := []onto.Identity{of.one("a"), of.one("b")}, []onto.Identity{town.one("a"), town.one("b")}
	s.commit(put(before[0], 1))
	s.commit(put(before[1], 1))
	end := of.end()
	end.RenamedTo = town.Name
	e := dropping(end)
	e.Add = []backend.NewVersion{{Schema: schema, Upgrader: &onto.StoredUpgrader{RenamedFrom: of.Name, FromVersion: 1}}}
	s.evolve(e, put(after[0], 1), put(after[1], 1), remove(before[0]), remove(before[1]))
	s.commit(put(after[0], 2), remove(after[1]))
	s.commit(put(after[1], 2))
	s.reopen()
	s.wantFirsts(before, "0 0", "1 0", "1 2", "0 0", "0 0", "0 0")
	s.wantFirsts(after, "0 0", "0 0", "0 0", "3 3", "3 0", "3 5")
}

func firstsOfPurged(s *story) {
	ids := []onto.Identity{city("oslo"), city("rome")}
	s.commit(put(city("rome"), 1), put(city("oslo"), 1))
	s.commit(remove(city("oslo")))
	e := dropping(cities().end())
	e.End[0].Purge = true
	s.evolve(e, remove(city("rome")))
	s.register(testSchemas()...)
	again := s.resolve(onto.Point{}).ID + 1
	s.commit(stamped(put(city("rome"), 1), 2))
	s.commit(stamped(put(city("oslo"), 1), 2), stamped(put(city("rome"), 2), 2))
	s.reopen()
	want := slices.Repeat([]string{"0 0"}, int(again))
	s.wantFirsts(ids, append(want, fmt.Sprintf("0 %d", again), fmt.Sprintf("%d %d", again+1, again))...)
}

// firstsOfMany asks about more identities than any statement takes.
func firstsOfMany(s *story) {
	const n = 1500
	var all []backend.Write
	var ids []onto.Identity
	for i := range n {
		ids = append(ids, city(fmt.Sprintf("%05d", i)))
		all = append(all, put(ids[i], 1))
	}
	s.stream(draft(), all...)
	var gone, again []backend.Write
	for i := 0; i < n; i += 3 {
		gone, again = append(gone, remove(ids[i])), append(again, put(ids[i], 2))
	}
	s.stream(draft(), gone...)
	s.stream(draft(), again[:len(again)/2]...)
	s.commit(put(person("other"), 1))
	s.wantLives(onto.TypeName{Kind: onto.KindEntity, Name: tCity}, ids)
}

func certainCommits(s *story) {
	const n = 40
	for i := range n {
		s.commit(put(person("ada"), i))
	}
	s.do(rich("key", put(person("ada"), n))) // commit 41
	random := rand.New(rand.NewPCG(1, 2))
	for _, q := range []backend.CommitQuery{
		{}, {Newest: true}, {Limit: 3}, {Newest: true, Limit: 3}, {Since: 7}, {Until: 20}, {Since: 5, Until: 25, Newest: true, Limit: 4}, {Since: 41}, {Key: "key"}, {Key: "none"},
	} {
		if q.Until == 0 {
			q.Until = backend.Head
		}
		for _, ids := range [][]int64{nil, {}, {17}, {41}, {0, -1, 42, 99}, perm(random, 50), {40, 2, 2, 41, 30, 2}, perm(random, 12)} {
			some := q
			some.IDs = ids
			var want []string
			all := q
			all.Limit = 0
			for c, err := range s.Commits(s.ctx, &all) {
				s.must(err)
				if (ids == nil || slices.Contains(ids, c.ID)) && (q.Limit == 0 || len(want) < q.Limit) {
					want = append(want, showCommit(c))
				}
			}
			given := slices.Clone(ids)
			s.wantLines(fmt.Sprintf("%+v", some), s.commits(some), want)
			if !slices.Equal(given, ids) {
				s.Errorf("the query was changed: %v", ids)
			}
		}
	}
}

// perm is the numbers below n in a random order.
func perm(random *rand.Rand, n int) []int64 {
	list := make([]int64, n)
	for i, x := range random.Perm(n) {
		list[i] = int64(x)
	}
	return list
}
