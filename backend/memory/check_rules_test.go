package memory

import (
	"slices"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/audit"
)

// The rules of package audit find the same damage, with the same codes. The order of
// versions, and that their commits exist, is up to the storage; empty commits are
// reported by a backend that knows of purges.
func TestRulesFindDamage(t *testing.T) {
	compared := 0
	for _, test := range damages() {
		if slices.Contains([]string{"version_order", "version_without_commit"}, test.want) {
			continue
		}
		l := damaged(t, test.do).store.log
		if empty(l) {
			continue
		}
		compared++
		t.Run(test.want, func(t *testing.T) {
			if got := ruled(t, l); test.want == "" && len(got) > 0 || test.want != "" && !slices.Contains(got, test.want) {
				t.Errorf("got findings %q, want %q", got, test.want)
			}
		})
	}
	if compared < len(damages())/2 {
		t.Errorf("only %d of %d logs were held to the rules", compared, len(damages()))
	}
}

// empty reports whether a commit claims to have no versions.
func empty(l log) bool {
	return slices.ContainsFunc(l.commits, func(r record) bool { return r.commit.Operations == 0 })
}

// ruled shows a log to the rules, as a backend does, and returns the codes of what
// they find.
func ruled(t *testing.T, l log) []string {
	t.Helper()
	var codes []string
	rules := audit.New(func(f onto.Finding) error {
		codes = append(codes, f.Code)
		return nil
	})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(rules.Types(l.schemas, l.head(), func(i int) bool {
		stored, _ := onto.ParseSchema(l.schemas[i].JSON)
		return stored.Hash() == l.schemas[i].Hash && stored.WithFlags(l.schemas[i].Schema).Hash() == l.schemas[i].Schema.Hash()
	}))
	held := map[int64]int64{}
	history := audit.NewHistory()
	for i := range l.versions {
		v := &l.versions[i]
		held[v.Commit]++
		if i > 0 && v.Commit == l.versions[i-1].Commit {
			must(rules.Order(&l.versions[i-1], v))
		}
		_, err := rules.Version(v)
		must(err)
		must(rules.Stamp(v))
		must(rules.Change(history, v))
	}
	before := &audit.Commit{}
	for _, r := range l.commits {
		c := &audit.Commit{ID: r.commit.ID, Time: r.commit.Time, Stored: written(r.commit.Time), Metadata: r.metadata, Key: r.commit.IdempotencyKey}
		must(rules.Follows(before, c))
		must(rules.Commit(c))
		must(rules.Operations(c.ID, int64(r.commit.Operations), held[c.ID]))
		before = c
	}
	return codes
}

// written is a time as it is, with its zone and all its digits.
func written(t time.Time) string {
	if t.Nanosecond()%1000 != 0 {
		return t.Format("2006-01-02T15:04:05.000000000-07:00")
	}
	return t.Format("2006-01-02T15:04:05.000000-07:00")
}
