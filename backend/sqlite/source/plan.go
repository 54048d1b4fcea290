package source

import (
	"context"
	"errors"
	"maps"
	"math"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/internal/codec"
)

// The log of a file is in several tables, whose rows need not be in order, and the files of
// the original have no index by commit. So the file is read once, and where the rows of each
// commit are is kept in a file of its own, the plan, with what the commits become: their
// ids, without gaps, and their times, which never go back. What is appended to the file
// meanwhile is added to the plan.

const createPlan = `
CREATE TABLE plan.log (
	id INTEGER PRIMARY KEY,       -- the commit in the copy
	was INTEGER NOT NULL UNIQUE,  -- in the file
	at INTEGER NOT NULL,          -- its time, in microseconds
	how INTEGER NOT NULL          -- see the constants
);
CREATE TABLE plan.runs (          -- rows of history that follow each other
	commit_id INTEGER NOT NULL,
	kind INTEGER NOT NULL,
	first INTEGER NOT NULL,
	last INTEGER NOT NULL,
	PRIMARY KEY (commit_id, kind, first)
) WITHOUT ROWID;`

// What becomes of a commit.
const (
	timeRaised = 1 << iota
	commitAdded
)

// stamp is a version of a type as rows are stamped with it.
type stamp struct {
	kind    int
	name    string
	version int64
}

// span is the first and last commit of rows, as the file has them.
type span struct{ first, last int64 }

// place is a place in the order of ids, which any 64-bit integer can be.
type place struct {
	id    int64
	begun bool // it is not before all ids
}

// plan is what is known of the rows of a file.
type plan struct {
	begun bool         // its tables have what follows
	turn  int64        // grows whenever the plan begins anew
	seen  [kinds]place // the last row of each table

	head     int64 // the last commit in the copy
	was      int64 // in the file
	wasText  string
	wasThere bool
	gaps     bool      // commits have other ids than in the file
	last     time.Time // of that commit
	first    time.Time // what stands for the time of commits before any that has one

	stamps map[stamp]span
}

func newPlan() plan {
	p := plan{was: math.MinInt64, stamps: map[stamp]span{}}
	for kind := range p.seen {
		p.seen[kind].id = math.MinInt64
	}
	return p
}

// scanned is how many rows are read in one transaction.
const scanned = 100_000

// update brings the plan up to what the file has now.
func (f *File) update(ctx context.Context, c *driver.Conn) error {
	f.planning.Lock()
	defer f.planning.Unlock()
	for {
		next, more, err := f.extend(ctx, c)
		if err == nil {
			err = c.Exec(`COMMIT`)
		}
		if err != nil {
			_ = c.Exec(`ROLLBACK`) // the error is that of the transaction
			f.plan.begun = false   // a COMMIT that fails may have kept something
			return err
		}
		if f.plan = next; !more {
			return nil
		}
	}
}

// extend adds some of what the file has to the plan, and reports whether there may be more.
// It leaves the connection in a transaction.
func (f *File) extend(ctx context.Context, c *driver.Conn) (next plan, more bool, err error) {
	if err := c.Exec(`BEGIN`); err != nil {
		return next, false, err
	}
	next = f.plan
	next.stamps = maps.Clone(f.plan.stamps)
	follows := next.begun
	if follows {
		follows, err = f.follows(ctx, c, &next)
	}
	if err == nil && !follows {
		next = newPlan()
		next.begun, next.turn = true, f.plan.turn+1
		err = c.Script(`DELETE FROM plan.log; DELETE FROM plan.runs`)
	}
	left := int64(scanned)
	for kind := 0; kind < kinds && err == nil && left > 0; kind++ {
		var n int64
		n, err = f.scan(ctx, c, kind, &next, left)
		left -= n
	}
	if err == nil && left > 0 {
		err = f.addCommits(ctx, c, &next)
	}
	return next, left <= 0, err
}

// follows reports whether what the file has follows what is planned: the last commit is
// there as it was, and no rows have come to it or to earlier ones.
func (f *File) follows(ctx context.Context, c *driver.Conn, p *plan) (bool, error) {
	if p.head == 0 {
		return true, nil
	}
	r, ok, err := c.QueryRowContext(ctx, `SELECT created_at FROM main.commits WHERE id = ?`, p.was)
	if err != nil || ok != p.wasThere || ok && r.Text(0) != p.wasText {
		return false, err
	}
	for kind := range kinds {
		t := f.tables[kind]
		if t == nil {
			continue
		}
		n, err := c.QueryIntContext(ctx, `SELECT EXISTS (SELECT 1 FROM main.`+t.name+` WHERE id >= ?1 AND (id > ?1 OR NOT ?2) AND commit_id <= ?3)`,
			p.seen[kind].id, p.seen[kind].begun, p.was)
		if err != nil || n > 0 {
			return false, err
		}
	}
	return true, nil
}

// scan reads at most so many rows of a table that are not planned yet, and returns how many
// there were.
func (f *File) scan(ctx context.Context, c *driver.Conn, kind int, p *plan, most int64) (n int64, err error) {
	t := f.tables[kind]
	if t == nil {
		return 0, nil
	}
	var commit, first int64
	open := false
	add := func() error {
		if !open {
			return nil
		}
		return c.Exec(`INSERT INTO plan.runs VALUES (?, ?, ?, ?)`, commit, kind, first, p.seen[kind].id)
	}
	err = c.Each(ctx, t.scan, []any{p.seen[kind].id, p.seen[kind].begun, most}, func(r *driver.Rows) error {
		n++
		id := r.Int(0)
		at, ok := r.Vals[1].(int64)
		if !ok {
			return onto.Errorf(onto.Corrupt, "%s: row %d of %s is of no commit", f.place.Path, id, t.name).WithHint("look at it with: sqlite3 FILE")
		}
		if at != commit || !open {
			if err := add(); err != nil {
				return err
			}
			commit, first, open = at, id, true
		}
		p.seen[kind] = place{id, true}
		saw(p.stamps, stamp{kind, r.Text(2), r.Int(3)}, at)
		return nil
	})
	if err == nil {
		err = add()
	}
	return n, err
}

// addCommits adds the commits after the last one that is planned: those that the file lists,
// and those that it has only rows of.
func (f *File) addCommits(ctx context.Context, c *driver.Conn, p *plan) error {
	if p.head == 0 {
		if err := f.firstTime(ctx, c, p); err != nil {
			return err
		}
	}
	const list = `SELECT id, created_at, 1 FROM main.commits WHERE id >= ?1
		UNION ALL SELECT DISTINCT commit_id, NULL, 0 FROM plan.runs WHERE commit_id >= ?1 ORDER BY 1, 3 DESC`
	return c.Each(ctx, list, []any{p.was}, func(r *driver.Rows) error {
		id := r.Int(0)
		if id == p.was && p.head > 0 {
			return nil
		}
		how, at := 0, storedTime(r.Text(1))
		if p.wasThere = r.Int(2) == 1; !p.wasThere {
			how = commitAdded
		}
		if before := later(p.last, p.first); at.IsZero() || at.Before(p.last) {
			if p.wasThere {
				how = timeRaised
			}
			at = before
		}
		p.head, p.was, p.wasText, p.last = p.head+1, id, r.Text(1), at
		p.gaps = p.gaps || p.head != id
		return c.Exec(`INSERT INTO plan.log VALUES (?, ?, ?, ?)`, p.head, id, at.UnixMicro(), how)
	})
}

// later is the first time, or the second if there is none.
func later(t, otherwise time.Time) time.Time {
	if t.IsZero() {
		return otherwise
	}
	return t
}

// firstTime finds what stands for the time of commits before any that has one: the first
// time that the file has.
func (f *File) firstTime(ctx context.Context, c *driver.Conn, p *plan) error {
	sources := []string{`SELECT created_at FROM main.commits ORDER BY id`}
	if f.shape.has("schema_versions") {
		sources = append(sources, `SELECT created_at FROM main.schema_versions ORDER BY id`)
	}
	for _, sql := range sources {
		err := c.Each(ctx, sql, nil, func(r *driver.Rows) error {
			if p.first = storedTime(r.Text(0)); !p.first.IsZero() {
				return errFound
			}
			return nil
		})
		if err == errFound {
			return nil
		}
		if err != nil {
			return err
		}
	}
	p.first = time.Unix(0, 0).UTC()
	return nil
}

// errFound ends a query early.
var errFound = errors.New("found")

// storedTime reads a time column; what cannot be read is the zero time.
func storedTime(s string) time.Time {
	t, _ := codec.ParseTimeLoosely(s)
	return t
}

// rank is the id in the copy of a commit of the file, or of the first one after it if there
// is no such commit.
func (p *plan) rank(ctx context.Context, c *driver.Conn, was int64) (id int64, exact bool, err error) {
	r, ok, err := c.QueryRowContext(ctx, `SELECT id, was FROM plan.log WHERE was >= ? ORDER BY was LIMIT 1`, was)
	if err != nil || !ok {
		return p.head + 1, false, err
	}
	return r.Int(0), r.Int(1) == was, nil
}
