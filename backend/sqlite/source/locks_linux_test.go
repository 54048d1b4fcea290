package source_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/mattn/go-sqlite3"

	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/backend/sqlite/source"
	"github.com/ontologia/onto/internal/child"
)

// A program that has a file open through SQLite keeps its locks on it, whatever it opens and
// closes here: another process cannot write before its transaction has ended.
func TestLocksOfThisProcess(t *testing.T) {
	all := t
	if args, ok := child.Args(); ok {
		wantLocked(t, args[0], args[1])
		return
	}
	for of, locks := range map[string]struct {
		statements []string
		others     string // what another process tries
	}{
		"a reader":                    {[]string{`BEGIN`, `SELECT * FROM commits LIMIT 1`}, `BEGIN EXCLUSIVE`},
		"a writer":                    {[]string{`BEGIN IMMEDIATE`}, `BEGIN IMMEDIATE`},
		"a writer with changed pages": {[]string{`BEGIN IMMEDIATE`, `INSERT INTO commits (created_at) VALUES ('2099-01-01T00:00:00+00:00')`}, `BEGIN IMMEDIATE`},
	} {
		for name, use := range uses() {
			t.Run(of+", "+name, func(t *testing.T) {
				path := load(t, "plain", rollback)
				db, err := sql.Open("sqlite3", path)
				if err != nil {
					t.Fatal(err)
				}
				defer db.Close()
				db.SetMaxOpenConns(1)
				for _, statement := range locks.statements {
					if _, err := db.Exec(statement); err != nil {
						t.Fatal(err)
					}
				}
				if err := use(t.Context(), path); err != nil {
					t.Fatal(err)
				}
				if out, err := child.Test("^"+all.Name()+"$", path, locks.others).CombinedOutput(); err != nil || !child.Passed(all, string(out)) {
					t.Errorf("%v:\n%s", err, out)
				}
				if _, err := db.Exec(`COMMIT`); err != nil {
					t.Errorf("the transaction that was under way: %v", err)
				}
			})
		}
	}
}

// uses are ways to open and close a file of the original program.
func uses() map[string]func(ctx context.Context, path string) error {
	return map[string]func(ctx context.Context, path string) error{
		"inspected": func(ctx context.Context, path string) error {
			_, err := source.Inspect(ctx, path, "")
			return err
		},
		"opened": func(ctx context.Context, path string) error {
			f, err := source.Open(ctx, path, nil)
			if err != nil {
				return err
			}
			return f.Close()
		},
		"opened twice at once": func(ctx context.Context, path string) error {
			f, err := source.Open(ctx, path, nil)
			if err != nil {
				return err
			}
			defer f.Close()
			second, err := source.Open(ctx, path, nil)
			if err != nil {
				return err
			}
			return second.Close()
		},
		"refused as a store": func(ctx context.Context, path string) error {
			b, err := sqlite.Open(ctx, path, &sqlite.Options{MustExist: true})
			if err == nil {
				return errors.Join(errors.New("it was opened"), b.Close())
			}
			if !strings.Contains(err.Error(), "original") {
				return err
			}
			return nil
		},
	}
}

// wantLocked fails unless a statement that needs a lock finds the file locked.
func wantLocked(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite3", path+"?_busy_timeout=1")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var e sqlite3.Error
	if _, err := db.Exec(statement); !errors.As(err, &e) || e.Code != sqlite3.ErrBusy {
		t.Errorf("%s by another process: got %v, want that the file is locked", statement, err)
	}
}
