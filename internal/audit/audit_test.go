package audit_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/audit"
	"github.com/ontologia/onto/internal/codec"
)

// found collects findings.
type found []onto.Finding

func (f *found) push(one onto.Finding) error {
	*f = append(*f, one)
	return nil
}

// lines is what was found, as "severity code".
func (f *found) lines() []string {
	var list []string
	for _, one := range *f {
		list = append(list, string(one.Severity)+" "+one.Code)
	}
	return list
}

func noon() time.Time { return time.Date(2026, 2, 10, 12, 0, 0, 0, time.UTC) }

func commit(id int64, at time.Time) *audit.Commit {
	return &audit.Commit{ID: id, Time: at, Stored: codec.FormatTime(at)}
}

// A rule is broken by a commit alone or by the one that it follows. What another
// program wrote is a warning, and need not be in our form.
func TestCommits(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(c *audit.Commit)
		want  string
	}{
		{"nothing", func(*audit.Commit) {}, ""},
		{"a gap", func(c *audit.Commit) { c.ID = 4 }, "error commit_gap"},
		{"a time that goes back", func(c *audit.Commit) { *c = *commit(3, noon().Add(-time.Second)) }, "error commit_time_back"},
		{"no time", func(c *audit.Commit) { c.Time, c.Stored = time.Time{}, "soon" }, "error commit_time_unreadable"},
		{"another form", func(c *audit.Commit) { c.Stored = "2026-02-10T12:00:00Z" }, "error time_form"},
		{"metadata", func(c *audit.Commit) { c.Metadata = []byte(`{ }`) }, "error metadata_form"},
		{"a key", func(c *audit.Commit) { c.Key = "k" }, "error key_twice"},
		{"another key", func(c *audit.Commit) { c.Key = "l" }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var f found
			log := audit.New(f.push).At("here")
			first, second := commit(2, noon()), commit(3, noon())
			first.Key = "k"
			c.spoil(second)
			if err := errors.Join(log.Commit(first), log.Follows(first, second), log.Commit(second)); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(f.lines(), " "); got != c.want {
				t.Errorf("got %q, want %q", f, c.want)
			}
			for _, one := range f {
				if !strings.HasPrefix(one.Message, "here: ") {
					t.Errorf("%v does not name the place", one)
				}
			}
		})
	}
}

func person(version int) onto.SchemaVersion {
	s := onto.Schema{Kind: onto.KindEntity, Name: "Person", Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}}}
	return onto.SchemaVersion{Schema: s, Version: version, Since: 1}
}

// Rows must be of a version of their type that was the newest when they were
// written; those of other programs must be of one that exists.
func TestRows(t *testing.T) {
	first, second, third := person(1), person(2), person(3)
	first.End = &onto.End{Commit: 4, Time: noon()}
	second.Since, third.Since = 6, 9
	rows := func(version int, first, last, put int64) audit.Rows {
		return audit.Rows{TypeName: onto.TypeName{Kind: onto.KindEntity, Name: "Person"}, Version: version, First: first, Last: last, LastPut: put}
	}
	for _, c := range []struct {
		name string
		rows audit.Rows
		want string
	}{
		{"until the end, which deletes", rows(1, 1, 4, 3), ""},
		{"a put at the end", rows(1, 1, 4, 4), "error schema_ended"},
		{"a delete after the end", rows(1, 1, 5, 3), "error schema_ended"},
		{"a version that is superseded", rows(2, 6, 8, 8), ""},
		{"a version after it was superseded", rows(2, 6, 9, 8), "error schema_since"},
		{"a version before it began", rows(3, 8, 12, 12), "error schema_since"},
		{"the newest", rows(3, 9, 12, 12), ""},
		{"no version", rows(4, 9, 12, 12), "error schema_unknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var f found
			log := audit.New(f.push)
			err := log.Types([]onto.SchemaVersion{first, second, third}, 12, func(int) bool { return true })
			if err = errors.Join(err, log.Rows(&c.rows)); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(f.lines(), " "); got != c.want {
				t.Errorf("got %q, want %q", f, c.want)
			}
		})
	}
	first.End.Purged = true
	var f found
	log := audit.New(f.push)
	purged := rows(1, 1, 3, 3)
	if err := errors.Join(log.Types([]onto.SchemaVersion{first}, 12, func(int) bool { return true }), log.Rows(&purged)); err != nil || !slices.Equal(f.lines(), []string{"error schema_purged"}) {
		t.Errorf("purged: got %v and error %v", f, err)
	}
}

// A type whose versions are not as they should be is in doubt.
func TestTypes(t *testing.T) {
	other, late := person(1), person(1)
	other.Schema.Name, late.Since = "City", 2
	for _, c := range []struct {
		name   string
		all    []onto.SchemaVersion
		intact bool
		want   string
		doubt  bool
	}{
		{"two versions", []onto.SchemaVersion{person(1), person(2)}, true, "", false},
		{"a gap", []onto.SchemaVersion{person(1), person(3)}, true, "error schema_gap", true},
		{"out of order", []onto.SchemaVersion{person(1), other}, true, "error schema_order", false},
		{"a version from before the one it follows", []onto.SchemaVersion{late, person(2)}, true, "error schema_since", false},
		{"twice", []onto.SchemaVersion{person(1), person(1)}, true, "error schema_order", true},
		{"edited", []onto.SchemaVersion{person(1)}, false, "error schema_hash", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var f found
			log := audit.New(f.push)
			if err := log.Types(c.all, 1, func(int) bool { return c.intact }); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(f.lines(), " "); got != c.want {
				t.Errorf("got %q, want %q", f, c.want)
			}
			if got := log.Doubtful(onto.TypeName{Kind: onto.KindEntity, Name: "Person"}); got != c.doubt {
				t.Errorf("in doubt: got %v, want %v", got, c.doubt)
			}
		})
	}
}

func TestVersions(t *testing.T) {
	for _, c := range []struct {
		name, fields string
		op           onto.Op
		want         string
	}{
		{"a put", `{"id":"a"}`, onto.Put, ""},
		{"spaces", `{"id": "a"}`, onto.Put, "error fields_not_canonical"},
		{"a list", `[]`, onto.Put, "error fields_not_canonical"},
		{"no JSON", `{`, onto.Put, "error fields_not_canonical"},
		{"another op", `{}`, "merge", "error op_unknown"},
		{"a delete", `{}`, onto.Delete, ""},
		{"a delete with fields", `{"id":"a"}`, onto.Delete, "error delete_fields"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var f found
			v := onto.Version{Identity: onto.EntityID("Person", "a"), Commit: 1, Op: c.op, Fields: json.RawMessage(c.fields)}
			sound, err := audit.New(f.push).Version(&v)
			if got := strings.Join(f.lines(), " "); err != nil || got != c.want || sound != (c.want == "") {
				t.Errorf("got %q, sound %v, error %v; want %q", f, sound, err, c.want)
			}
		})
	}
}

// Where versions are in order, each comes after the one before it.
func TestOrder(t *testing.T) {
	at := func(key string, commit int64) *onto.Version {
		return &onto.Version{Identity: onto.EntityID("Person", key), Commit: commit}
	}
	for _, c := range []struct {
		before, v *onto.Version
		want      string
	}{
		{at("a", 1), at("a", 2), ""},
		{at("a", 2), at("b", 1), ""},
		{at("a", 2), at("a", 1), "error version_order"},
		{at("b", 1), at("a", 2), "error version_order"},
		{at("a", 1), at("a", 1), "error version_twice"},
	} {
		var f found
		if err := audit.New(f.push).Order(c.before, c.v); err != nil || strings.Join(f.lines(), " ") != c.want {
			t.Errorf("%v after %v: got %v and error %v, want %q", c.v, c.before, f, err, c.want)
		}
	}
}

// Each version of an identity changes something, unless the version before it is
// unknown.
func TestChanges(t *testing.T) {
	put := func(commit int64, n string) *onto.Version {
		return &onto.Version{Identity: onto.EntityID("Person", "a"), Commit: commit, Op: onto.Put, Fields: json.RawMessage(`{"n":` + n + `}`)}
	}
	gone := func(commit int64) *onto.Version {
		return &onto.Version{Identity: onto.EntityID("Person", "a"), Commit: commit, Op: onto.Delete, Fields: json.RawMessage(`{}`)}
	}
	for _, loose := range []bool{false, true} {
		var f found
		log, h := audit.New(f.push), audit.NewHistory()
		h.Loose = loose
		for _, v := range []*onto.Version{gone(1), put(2, "1"), put(3, "2"), put(4, "2"), gone(5), put(6, "2")} {
			if err := log.Change(h, v); err != nil {
				t.Fatal(err)
			}
		}
		want := []string{"error delete_of_nothing", "error version_unchanged"}
		if loose {
			want = nil
		}
		if !slices.Equal(f.lines(), want) {
			t.Errorf("loose %v: got %v, want %v", loose, f, want)
		}
		if h.Newest(gone(1).Identity) != 6 || !h.Live(put(6, "2")) || h.Live(put(4, "2")) {
			t.Errorf("loose %v: the newest is of commit %d", loose, h.Newest(gone(1).Identity))
		}
	}
}

// Versions are counted down from what commits were made with, in any order. Numbers
// that damage hides are not checked.
func TestTally(t *testing.T) {
	var f found
	var tally audit.Tally
	for id := range int64(3000) {
		tally.Add(id+1, 2)
	}
	for id := int64(3000); id > 0; id-- {
		tally.Add(id, -2)
	}
	tally.Add(7, -1)
	tally.Add(2000, 3)
	tally.Add(2500, 1)
	tally.Hide(2400, 2600)
	tally.Hide(2700, 2300)
	if err := audit.New(f.push).Tally(&tally); err != nil {
		t.Fatal(err)
	}
	if len(f) != 2 || f[0].Message != "commit 7: it holds 1 versions too many" || f[1].Message != "commit 2000: it holds 3 versions too few" {
		t.Errorf("got %v", f)
	}
}

// An error of the report function ends a rule.
func TestReportEnds(t *testing.T) {
	enough := errors.New("enough")
	log := audit.New(func(onto.Finding) error { return enough })
	if err := log.Types([]onto.SchemaVersion{person(2)}, 1, func(int) bool { return false }); !errors.Is(err, enough) {
		t.Errorf("types: got %v", err)
	}
	if err := log.Follows(commit(1, noon()), commit(3, noon())); !errors.Is(err, enough) {
		t.Errorf("commits: got %v", err)
	}
}

func TestCircumstances(t *testing.T) {
	lease := func(name string, until time.Duration) onto.Lease {
		return onto.Lease{Name: name, Owner: "ana", Expires: noon().Add(until)}
	}
	for _, c := range []struct {
		lease        onto.Lease
		code, remedy string
	}{
		{lease(onto.WriteLease, time.Minute), "lock_held", "wait for its holder; end the lease only if that has died: onto lock release --force --reason TEXT"},
		{lease(onto.WriteLease, 0), "lock_expired", "clear it away: onto lock release --force --reason TEXT"},
		{lease("nightly", -time.Minute), "lock_expired", "clear it away: onto lock release --name nightly --force --reason TEXT"},
		{lease("not a name", -time.Minute), "lock_expired", ""},
		{lease("nightly", time.Minute), "", ""},
	} {
		if f, ok := audit.Lease(c.lease, noon()); ok != (c.code != "") || f.Code != c.code || f.Remedy.String() != c.remedy {
			t.Errorf("%s: got %+v, want %s: %s", c.lease, f, c.code, c.remedy)
		}
	}
	if f, ahead := audit.Clock("commit 3", noon().Add(time.Second), noon(), time.Second); ahead {
		t.Errorf("a second: got %v", f)
	}
	if f, ahead := audit.Clock("commit 3", noon().Add(time.Hour), noon(), time.Second); !ahead || f.Code != "clock_ahead" || !strings.Contains(f.Message, "commit 3 is of 2026-02-10T13:00:00.000000+00:00, which is 1h0m0s from now") {
		t.Errorf("an hour: got %v", f)
	}
}
