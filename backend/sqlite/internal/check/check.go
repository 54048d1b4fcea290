// Package check examines a snapshot of a store: what it holds, and the circumstances of
// its file.
package check

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/audit"
)

// Store is the store under examination.
type Store struct {
	Path   string // for messages
	File   string
	Tables layout.Tables
	Now    time.Time
}

// All examines what a snapshot of a store holds: the structure of the file, the log,
// and the projection against history. Step is called with each part before it is
// checked.
func All(of *Store, m *layout.Moment, step func(name string), push func(onto.Finding) error) error {
	c := newChecker(of, m, push)
	for _, s := range c.steps() {
		step(s.name)
		if err := c.take(s); err != nil {
			return err
		}
		if c.tangled {
			return c.report(audit.CheckStopped, "what is stored was not checked: pages of the file lead to the same pages, so that reading it may never end")
		}
	}
	return nil
}

// Checksum compares the stored checksum with what a snapshot holds, as All does.
func Checksum(of *Store, m *layout.Moment, push func(onto.Finding) error) error {
	c := newChecker(of, m, push)
	return c.take(checkStep{"the checksum", c.checksum})
}

// checkStep is one part of the check.
type checkStep struct {
	name string // of what is checked
	run  func() error
}

func (c *checker) steps() []checkStep {
	return []checkStep{
		{"the pages of the file", c.file},
		{"indexes", c.indexes},
		{"the commits of versions", c.foreignKeys},
		{"types", c.schemas},
		{"types without a schema", c.unregistered},
		{"the log", c.commits},
		{"checksums", c.sums},
		{"versions", c.versions},
		{"the JSON of versions", c.fields},
		{"the projection", c.projections},
		{"the checksum", c.checksum},
		{"what is derived from the projection", c.derived},
		{"the tables of the past", c.past},
		{"the endpoints of relations and the subjects of facts", c.endpoints},
		{"events and claims", c.events},
		{"work", c.work},
	}
}

// take runs a step. Damage that ends it is a finding of its own.
func (c *checker) take(s checkStep) error {
	err := s.run()
	if err == nil || c.ctx.Err() != nil {
		return err
	}
	wrapped := driver.Wrap(c.of.Path, err)
	if onto.CodeOf(wrapped) != onto.Corrupt && !driver.LacksTable(err) {
		return err
	}
	f := audit.CheckStopped.Finding("%s could not be checked to the end: %v", s.name, err)
	f.Remedy = onto.HintOf(wrapped)
	return c.push(f)
}

type checker struct {
	ctx  context.Context
	of   *Store
	r    *layout.Moment
	push func(onto.Finding) error
	log  audit.Log // the rules for history

	tangled bool // pages belong to two objects, or to one object twice
	slipped bool // something else has appended commits
}

func newChecker(of *Store, m *layout.Moment, push func(onto.Finding) error) *checker {
	c := &checker{ctx: m.Ctx, of: of, r: m, push: push}
	c.log = audit.New(push)
	c.log.Canonical = layout.CanonicalFields
	return c
}

// report reports a finding.
func (c *checker) report(code audit.Code, format string, args ...any) error {
	return c.push(code.Finding(format, args...))
}

// file runs SQLite's own check of pages and indexes. It stops at a projection row whose
// JSON an index cannot read; such a row is found later, and the rest is checked table
// by table. So are files with tables of others: expressions in their definitions are not
// run here.
func (c *checker) file() error {
	s, err := layout.SoundShape(c.r.Conn, c.of.Path)
	if err != nil {
		return err
	}
	tables := []string{"commits", "schema_registry", "schema_versions", "locks", "onto_meta", "onto_derived"}
	for _, t := range c.of.Tables {
		tables = append(tables, t.History)
	}
	tables = append(append(tables, layout.BusTables()...), layout.WorkTables()...)
	if s.Alien || len(s.Extras) > 0 {
		tables = s.Ours()
	} else if err := c.integrity(`PRAGMA integrity_check(100)`); err == nil || !isMalformedJSON(err) {
		return err
	}
	check := "integrity_check"
	if len(s.Extras) > 0 {
		check = "quick_check" // does not compute the indexes of others
	}
	for _, name := range tables {
		if err := c.integrity(`PRAGMA ` + check + `(` + name + `)`); err != nil && !isMalformedJSON(err) {
			return err
		}
	}
	return nil
}

func (c *checker) integrity(pragma string) error {
	return c.r.Each(pragma, nil, func(rows *driver.Rows) error {
		if s := rows.Text(0); s != "ok" {
			return c.damaged(s)
		}
		return nil
	})
}

func isMalformedJSON(err error) bool { return strings.Contains(err.Error(), "malformed JSON") }

// foreignKeys finds versions whose commit is missing.
func (c *checker) foreignKeys() error {
	for _, t := range c.of.Tables {
		err := c.r.Each(`PRAGMA main.foreign_key_check(`+t.History+`)`, nil, func(rows *driver.Rows) error {
			return c.report(audit.VersionWithoutCommit, "row %d of %s belongs to a commit that does not exist", rows.Int(1), rows.Text(0))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// commits checks ids, times and counts of the log.
func (c *checker) commits() error {
	var last audit.Commit
	var later, first int64 // how many have a time in the future, and the first of them
	count := layout.CountVersions("c.id")
	err := c.r.Each(`SELECT id, created_at, operations, `+count+` FROM commits c ORDER BY id`, nil, func(rows *driver.Rows) error {
		// Their index keeps the keys unique.
		at := audit.Commit{ID: rows.Int(0), Time: layout.StoredTime(rows.Text(1)), Stored: rows.Text(1)}
		err := errors.Join(c.log.Follows(&last, &at), c.log.Commit(&at))
		switch {
		case err != nil:
		case rows.Null(2):
			c.slipped = true
			err = c.report(audit.CommitUncounted, "commit %d was not made by this program", at.ID)
		default:
			err = c.log.Operations(at.ID, rows.Int(2), rows.Int(3))
		}
		last = at
		if at.Time.After(c.of.Now) {
			later++
			first = cmp.Or(first, at.ID)
		}
		return err
	})
	if err != nil || later == 0 || last.Time.After(c.of.Now) {
		return err // a head in the future is reported by a survey
	}
	return c.report(audit.CommitTimeFuture, "%d commits are later than now though the newest is not, the first of them commit %d", later, first)
}

// versions finds identities with two versions in one commit.
func (c *checker) versions() error {
	for _, t := range c.of.Tables {
		sql := fmt.Sprintf(`SELECT %s, h.commit_id, count(*) FROM %s h GROUP BY %s, h.commit_id HAVING count(*) > 1`, t.List("h"), t.History, t.List("h"))
		err := c.r.Each(sql, nil, func(rows *driver.Rows) error {
			commit := rows.Int(len(t.Columns))
			return c.log.Twice(t.Identity(rows, 0), commit, rows.Int(len(t.Columns)+1))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// projections compares each projection with what history says.
func (c *checker) projections() error {
	if c.slipped {
		return nil // it has nothing of such commits
	}
	for _, t := range c.of.Tables {
		if err := c.projection(t); err != nil {
			return err
		}
	}
	return nil
}

// projection walks history's newest versions and the projection side by side,
// both in order of identity.
func (c *checker) projection(t *layout.Table) error {
	state, projected := t.CreatedStateSQL(), t.CreatedProjectedSQL()
	if c.r.Format < layout.CreatedFormat {
		state, projected = t.StateSQL(), t.ProjectedSQL()
	}
	want, err := c.r.Query(c.ctx, state, lastPossible, lastPossible)
	if err != nil {
		return err
	}
	defer want.Close()
	got, err := c.r.Query(c.ctx, projected)
	if err != nil {
		return err
	}
	defer got.Close()
	compare := func() int { return t.Identity(want, 0).Compare(t.Identity(got, 0)) }
	err = walkBoth(want, got, compare, func(order int) error {
		switch {
		case order < 0:
			return c.report(audit.ProjectionMissing, "the projection lacks %s", t.Identity(want, 0))
		case order > 0:
			return c.report(audit.ProjectionExtra, "the projection has %s, history does not", t.Identity(got, 0))
		}
		return c.compare(t, want, got)
	})
	return cmp.Or(err, want.Err, got.Err)
}

// walkBoth walks two lists of rows that are in the same order. Judge is called for each
// row that both have (0) or that only the first (-1) or the second (1) has. The walk
// ends where one of them cannot be read.
func walkBoth(first, second *driver.Rows, compare func() int, judge func(order int) error) error {
	one, two := first.Next(), second.Next()
	for (one || two) && first.Err == nil && second.Err == nil {
		order := 0
		switch {
		case !two:
			order = -1
		case !one:
			order = 1
		default:
			order = compare()
		}
		if err := judge(order); err != nil {
			return err
		}
		if order <= 0 {
			one = first.Next()
		}
		if order >= 0 {
			two = second.Next()
		}
	}
	return nil
}

// compare checks one identity's projection row against its newest version.
func (c *checker) compare(t *layout.Table, want, got *driver.Rows) error {
	n := len(t.Columns)
	id := t.Identity(want, 0)
	w, g := layout.Version(want, n, id), layout.Version(got, n, id)
	fields, err := layout.CanonicalFields(w.Fields)
	if err != nil {
		fields = nil // as it stands in the projection
	}
	if w.Commit != g.Commit || w.Op != g.Op || w.SchemaVersion != g.SchemaVersion ||
		want.Int(n+4) != got.Int(n+4) || !bytes.Equal(fields, g.Fields) {
		return c.report(audit.ProjectionDiffers, "%s: the projection has commit %d, history has commit %d with other contents", id, g.Commit, w.Commit)
	}
	if want.Vals[n+5] != got.Vals[n+5] {
		return c.report(audit.ProjectionDiffers, "%s: the projection has %v as the commit that has created it again, history has %v", id, orNone(got.Vals[n+5]), orNone(want.Vals[n+5]))
	}
	return nil
}

// orNone is a value for a message.
func orNone(value any) any {
	if value == nil {
		return "none"
	}
	return value
}
