package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/child"
)

// everything is all that a file holds.
func everything(t *testing.T, path string) string {
	t.Helper()
	var parts []string
	for _, sql := range []string{
		`SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite%' ORDER BY name`, `SELECT * FROM sqlite_sequence ORDER BY name`,
		`SELECT * FROM commits`, `SELECT * FROM entity_history`, `SELECT * FROM fact_history`, `SELECT * FROM relation_history`, `SELECT * FROM onto_entity_past`, `SELECT * FROM onto_fact_past`,
		`SELECT * FROM schema_versions`, `SELECT * FROM schema_registry ORDER BY type_name`, `SELECT * FROM onto_meta`, `SELECT * FROM onto_derived`,
		`SELECT entity_type, entity_key, commit_id, json(fields) FROM entity_current`, `SELECT relation_type, commit_id FROM relation_current`,
		`SELECT fact_type, subject, attribute, fact_id, commit_id, json(fields) FROM fact_current`,
	} {
		parts = append(parts, sql, query(t, path, sql))
	}
	return strings.Join(parts, "\n")
}

// Whatever fails leaves the file and the handle as they were.
func TestEvolveFails(t *testing.T) {
	planted := errors.New("planted")
	fail := func(point string) func(*sqlite.Backend, *backend.Draft) {
		return func(b *sqlite.Backend, _ *backend.Draft) { b.FailAt(point, planted) }
	}
	good := []backend.Write{at(2, putNote("a", `,"stars":1`))}
	many := func(last backend.Write) []backend.Write {
		var list []backend.Write
		for i := range 3000 {
			list = append(list, at(2, putNote(fmt.Sprint("k", i), `,"stars":1`)))
		}
		return append(list, last)
	}
	for _, c := range []struct {
		name   string
		e      backend.Evolution
		before func(*sqlite.Backend, *backend.Draft)
		writes []backend.Write
		code   onto.Code // "" for what was planted
	}{
		{"at evolve", adding(rated("n"), memo("title")), fail("evolve"), good, ""},
		{"at versions", adding(rated("n"), memo("title")), fail("versions"), good, ""},
		{"at commit", adding(rated("n"), memo("title")), fail("commit"), good, ""},
		{"at commit, without one", adding(rated("n"), memo("title")), fail("commit"), nil, ""},
		{"at purge", ending(purged(notes()), citations()), fail("purge"), nil, ""},
		{"purged, at commit", ending(purged(notes())), fail("commit"), nil, ""},
		{"other types", adding(rated("n")), func(_ *sqlite.Backend, d *backend.Draft) { d.Evolve.Base = "x" }, good, onto.MigrationToken},
		{"expectation", adding(rated("n")), func(_ *sqlite.Backend, d *backend.Draft) {
			d.Expect = []onto.Expectation{{Head: true, Commit: 1}}
		}, good, onto.HeadMismatch},
		{"admission", adding(rated("n")), func(_ *sqlite.Backend, d *backend.Draft) {
			d.Admit = func(*backend.Write, *onto.Version) (bool, error) { return true, planted }
		}, good, ""},
		{"former stamp", adding(rated("n")), nil, many(putNote("a", "")), onto.SchemaOutdated},
		{"twice", adding(rated("n")), nil, many(at(2, putNote("k1", `,"stars":2`))), onto.Conflict},
		{"put of an ended type", ending(notes()), nil, []backend.Write{removeNote("b"), putNote("a", "")}, onto.Invalid},
		{"other stamp of an ended type", ending(notes()), nil, []backend.Write{at(2, removeNote("a"))}, onto.Invalid},
		{"unknown type", ending(notes(), backend.EndedType{Kind: onto.KindEntity, Type: "Nobody"}), nil, nil, onto.NotFound},
		{"name of another kind", adding(rated("n"), onto.Schema{Kind: onto.KindRelation, Name: "Note", Left: "Note", Right: "Note"}), nil, nil, onto.Invalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			path, b := noted(t)
			before := everything(t, path)
			d := planned(t, b, c.e)
			if c.before != nil {
				c.before(b, d)
			}
			_, err := spooled{b}.AppendStream(t.Context(), d, seq(c.writes...))
			if c.code != "" && onto.CodeOf(err) != c.code || c.code == "" && !errors.Is(err, planted) {
				t.Errorf("got %v, want %q", err, c.code)
			}
			wantUntouched(t, path, b, before)
		})
	}
}

// wantUntouched looks at a store of noted whose types should not have evolved.
func wantUntouched(t *testing.T, path string, b *sqlite.Backend, before string) {
	t.Helper()
	if after := everything(t, path); after != before {
		t.Errorf("the file has changed\n got: %s\nwant: %s", after, before)
	}
	wantRefused(t, b, onto.SchemaOutdated, at(2, putNote("a", `,"stars":1`)))
	wantRefused(t, b, onto.SchemaOutdated, asMemo(putNote("a", "")))
	commit(t, b, putNote("a", `,"title":"Third"`), cite("b", "a"))
	wantWords(t, path, b, note("title"), "a: third; b: other")
	wantDerived(t, path, "Cites.why search; Note.n index; Note.title search")
	register(t, b, tagType()) // takes the row id that the failed evolution had
	commit(t, b, backend.Write{Identity: onto.EntityID("Tag", "x"), Op: onto.Put, Fields: []byte(`{"id":"x"}`), SchemaVersion: 1})
}

func tagType() onto.Schema {
	return onto.Schema{Kind: onto.KindEntity, Name: "Tag", Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}}}
}

// A sequence that fails, panics or is cancelled changes nothing either.
func TestEvolveSourceFails(t *testing.T) {
	planted := errors.New("planted")
	for name, end := range map[string]func(stop func()) error{
		"error":  func(func()) error { return planted },
		"panic":  func(func()) error { panic(planted) },
		"cancel": func(stop func()) error { stop(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			path, b := noted(t)
			before := everything(t, path)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			err := func() (err error) {
				defer func() {
					if r := recover(); r != nil {
						err = r.(error)
					}
				}()
				_, err = b.AppendStream(ctx, planned(t, b, adding(rated("n"), memo("title"))), func(yield func(backend.Write, error) bool) {
					for i := range 3000 {
						if !yield(at(2, putNote(fmt.Sprint("k", i), "")), nil) {
							return
						}
					}
					if err := end(stop); err != nil {
						yield(backend.Write{}, err)
					}
				})
				return err
			}()
			if err != planted && !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want what was planted", err)
			}
			wantUntouched(t, path, b, before)
		})
	}
}

// A process that is killed while types evolve leaves all of the old or all of the new.
func TestKilledWhileEvolving(t *testing.T) {
	if args, ok := child.Args(); ok {
		evolveAndDie(t, args[0], args[1])
		return
	}
	for point, want := range map[string]string{
		"evolve": "Note 1 since 1; Cites 1 since 1", "purge": "Note 1 since 1; Cites 1 since 1", "commit": "Note 1 since 1; Cites 1 since 1",
		"committed": "Memo 1 since 3; Note 1 since 1; Note 2 since 3; Cites 1 since 1 until 3 purged 1",
	} {
		t.Run(point, func(t *testing.T) {
			path, b := noted(t)
			before := everything(t, path)
			out, err := child.Test("^TestKilledWhileEvolving$", path, point).CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("the child was not killed: %v\n%s", err, out)
			}
			wantTypes(t, b, want)
			if point != "committed" {
				wantUntouched(t, path, b, before)
				return
			}
			wantView(t, b, "Note", 3, "a/2", "b/2")
			commit(t, b, at(2, putNote("a", `,"stars":2`)), asMemo(putNote("m", "")))
			wantDerived(t, path, "Note.stars index")
		})
	}
}

// evolveAndDie adds versions, rewrites rows, purges a type, and is killed at the point.
func evolveAndDie(t *testing.T, path, point string) {
	b, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := adding(rated("stars"), memo())
	e.End = []backend.EndedType{purged(citations())}
	d := planned(t, b, e)
	b.CallAt(point, func() { syscall.Kill(os.Getpid(), syscall.SIGKILL) })
	_, err = spooled{b}.AppendStream(t.Context(), d, seq(at(2, putNote("a", `,"stars":1`)), at(2, putNote("b", `,"stars":1`))))
	t.Fatalf("still alive, error %v", err)
}
