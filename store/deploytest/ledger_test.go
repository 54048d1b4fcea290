package deploytest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/store"
)

// ledger is a model of the store: all that was acknowledged to programs, each of which
// knows some of the fields.
type ledger map[int64]map[string]ack // by commit, then key

func (l ledger) add(a ack) error {
	if l[a.Commit] == nil {
		l[a.Commit] = map[string]ack{}
	}
	if other, twice := l[a.Commit][a.Key]; twice {
		return fmt.Errorf("%s was acknowledged twice as commit %d: %+v and %+v", a.Key, a.Commit, other, a)
	}
	l[a.Commit][a.Key] = a
	return nil
}

// compare walks the history of a store and holds every version of an account against
// what the ledger says it is. Whatever nobody was acknowledged must be a migration's,
// which changes nothing but that defaults are filled in.
func (l ledger) compare(t *testing.T, b backend.Backend) (versions, migrated int) {
	t.Helper()
	backendtest.Check(t, b)
	s, err := store.Open(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	schemas, err := s.Schemas(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	state, seen := map[string]map[string]any{}, map[int64]int{}
	for past, err := range s.Now().AsStored().Find("Account").Versions(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		v := past.Version
		a, acknowledged := l[v.Commit][v.Key]
		versions++
		switch {
		case acknowledged:
			seen[v.Commit]++
			state[v.Key] = a.after(state[v.Key])
		case strings.HasPrefix(past.Commit.Comment, "migrate "):
			migrated++
		default:
			t.Errorf("%s of commit %d was acknowledged to no program: %s", v.Key, v.Commit, v.Fields)
		}
		if !v.Live() {
			if state[v.Key] != nil {
				t.Errorf("%s was deleted by commit %d, want %v", v.Key, v.Commit, state[v.Key])
			}
			continue
		}
		fillDefaults(state[v.Key], schemas, v.SchemaVersion)
		if want := text(t, state[v.Key]); string(v.Fields) != want {
			t.Errorf("%s of commit %d: got %s, want %s", v.Key, v.Commit, v.Fields, want)
		}
	}
	for commit, acks := range l {
		if seen[commit] != len(acks) {
			t.Errorf("commit %d has %d of %d versions that were acknowledged", commit, seen[commit], len(acks))
		}
	}
	l.compareNow(t, s, state)
	return versions, migrated
}

// compareNow holds what lives against what the walk through history came to.
func (l ledger) compareNow(t *testing.T, s *store.Store, state map[string]map[string]any) {
	t.Helper()
	got, want := map[string]string{}, map[string]string{}
	for v, err := range s.Now().Find("Account").All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got[v.Key] = string(v.Fields)
	}
	increments := map[string]int{}
	for _, acks := range l {
		for key := range acks {
			increments[key]++
		}
	}
	for key, fields := range state {
		if fields == nil {
			continue
		}
		want[key] = text(t, fields)
		if n := fields["n"]; strings.HasPrefix(key, "shared-") && n != float64(increments[key]) {
			t.Errorf("%s was incremented %d times and is %v", key, increments[key], n)
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("got\n%v\nwant\n%v", got, want)
	}
}

// after is the fields of an account after a write: those that the program knows are
// as it gave them, and all others as before.
func (a ack) after(before map[string]any) map[string]any {
	if a.Fields == nil {
		return nil
	}
	fields := map[string]any{}
	for name, value := range before {
		if !slices.Contains(a.Known, name) {
			fields[name] = value
		}
	}
	maps.Copy(fields, a.Fields)
	return fields
}

// fillDefaults adds what a version of the type has defaults for.
func fillDefaults(fields map[string]any, schemas []onto.SchemaVersion, version int) {
	for _, v := range schemas {
		if v.Schema.Name != "Account" || v.Version != version {
			continue
		}
		for _, f := range v.Schema.Fields {
			if _, has := fields[f.Name]; !has && f.Default != nil {
				var value any
				if err := json.Unmarshal(f.Default, &value); err != nil {
					panic(err)
				}
				fields[f.Name] = value
			}
		}
	}
}

func text(t *testing.T, fields map[string]any) string {
	t.Helper()
	doc, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(doc)
}
