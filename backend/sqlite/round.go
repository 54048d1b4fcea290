package sqlite

import (
	"fmt"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/bus"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/backend/sqlite/internal/work"
	"github.com/ontologia/onto/internal/decide"
)

// round is a write transaction under construction. All drafts are decided before
// anything is written. So a refused draft leaves no trace, and no savepoints are
// needed.
type round struct {
	*decide.Round
	wr    *writer
	w     *driver.Conn
	from  state                                // where the store stood at its beginning
	words map[onto.Identity]*layout.WordChange // of types with search fields

	unlinked bool // versions need not know what they supersede

	bus      *bus.Tx  // nil until it is needed
	inserted int      // how many of Events are written
	work     *work.Tx // nil until it is needed
}

func newRound(wr *writer, w *driver.Conn, s state) *round {
	return &round{
		Round: decide.NewRound(decide.Base{Head: s.Head, Time: s.headTime, Now: wr.now(), Types: wr.types.all}),
		wr:    wr, w: w, from: s,
	}
}

// run decides and writes all members. After an error nothing was written.
func (g *round) run(members []*member) error {
	err := g.fetch(members)
	for _, m := range members {
		if err != nil {
			break
		}
		if m.draft != nil {
			m.result, m.err = g.Append(m.draft, checkLease(g.w, m.draft.Lease))
		}
	}
	if err == nil && len(g.Commits) > 0 {
		sums := layout.VersionSums(g.w, g.Commits[0].ID, len(g.Commits), g.Versions)
		if err = layout.InsertCommits(g.w, g.Commits, sums); err == nil {
			err = g.insertVersions(g.Versions)
		}
	}
	if err == nil {
		err = g.writeBus(members)
	}
	if err == nil {
		err = g.writeWork(members)
	}
	if err == nil && g.wrote() {
		return g.wr.commitTo(g.w, g.from, g.Head())
	}
	g.wr.rollback(g.w)
	if err != nil {
		return err
	}
	for _, m := range members { // the other verdicts are refusals, or found nothing to claim, which promises nothing
		if m.err == nil && m.draft != nil {
			m.err = g.wr.vouch(g.from)
		}
	}
	return nil
}

// wrote reports whether the transaction has changed anything.
func (g *round) wrote() bool {
	return len(g.Commits) > 0 || g.bus != nil && g.bus.Wrote || g.work != nil && g.work.Wrote
}

// fetch looks up what the members are decided on.
func (g *round) fetch(members []*member) error {
	var ids identities
	for _, m := range members {
		if m.draft == nil {
			continue
		}
		if err := g.want(&ids, m.draft); err != nil {
			return err
		}
	}
	if err := g.wantBus(members); err != nil {
		return err
	}
	return g.lookup(ids)
}

// want adds the identities that a draft is decided on, and looks up the rest.
func (g *round) want(ids *identities, d *backend.Draft) error {
	ids.add(d)
	if d.IdempotencyKey != "" {
		if err := g.lookupKey(d.IdempotencyKey); err != nil {
			return err
		}
	}
	for t := range decide.Purges(d) {
		rows := g.wr.table(t.Kind)
		n, err := g.w.QueryInt(fmt.Sprintf(`SELECT count(*) FROM %s WHERE %s = ?`, rows.History, rows.Columns[0]), t.Name)
		if err != nil {
			return err
		}
		g.Counts[t] = n
	}
	return nil
}

// identities are split by kind, since each kind has tables of its own.
type identities [len(layout.Tables{})][]*onto.Identity

// add adds the identities that a draft is decided on.
func (ids *identities) add(d *backend.Draft) {
	for id := range decide.Identities(d) {
		list := &ids[layout.Place(id.Kind)]
		*list = append(*list, id)
	}
}

// lookup looks up the newest versions of identities.
func (g *round) lookup(ids identities) error {
	for i, t := range g.wr.tables {
		if err := layout.Lookup(g.w, t, ids[i], g.Newest); err != nil {
			return err
		}
	}
	return nil
}

// lookupKey looks up the commit that has used an idempotency key.
func (g *round) lookupKey(key string) error {
	r, ok, err := g.w.QueryRow(`SELECT `+layout.CommitList+`, c.draft_hash FROM commits c WHERE c.idempotency_key = ?`, key)
	if err != nil || !ok {
		return err
	}
	used := layout.ReadCommit(r)
	used.Digest = r.Text(layout.CommitWidth)
	g.Keys[key] = used
	return nil
}

// insertVersions writes versions, and updates the projection and what is derived.
func (g *round) insertVersions(versions []decide.Version) error {
	var lists [len(layout.Tables{})][]*decide.Version
	for i := range versions {
		v := &versions[i]
		list := &lists[layout.Place(v.Kind)]
		if *list == nil {
			*list = make([]*decide.Version, 0, len(versions)-i)
		}
		if len(g.wr.types.search) > 0 {
			g.noteWords(v, len(*list))
		}
		*list = append(*list, v)
	}
	if err := g.wr.reached("versions"); err != nil {
		return err
	}
	var first firstRows
	for i, t := range g.wr.tables {
		var err error
		if first[i], err = layout.InsertVersions(g.w, t, lists[i], g.unlinked); err != nil {
			return err
		}
	}
	if len(g.words) == 0 {
		return nil
	}
	return g.writeWords(first)
}

// firstRows is the row id of the first version of each kind that a group has written.
type firstRows [len(layout.Tables{})]int64
