package sqlite

import (
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// group is a write transaction in the making. All verdicts are reached by
// reading and by what earlier members of the group will have written; only
// then is anything written. So a member that is refused leaves no trace, and
// no savepoints are needed.
type group struct {
	b    *Backend
	w    *conn
	from state // where the store stood

	head     int64
	headTime time.Time
	now      time.Time
	current  map[onto.Identity]*onto.Version // as of the last member decided; nil if it has no version
	keys     map[string]commitRow            // by the idempotency key it uses

	commits   []commitRow
	entities  []versionRow
	relations []versionRow
	words     map[onto.Identity]*wordChange // of types with search fields
}

// commitRow is a commit to be written.
type commitRow struct {
	onto.Commit
	metadata, hash string
}

// versionRow is a history row to be written.
type versionRow struct {
	write      *backend.Write
	commit     int64
	supersedes bool // another version
}

// usedKey is an idempotency key and the commit that used it.
type usedKey struct {
	commit onto.Commit
	hash   string
}

func newGroup(b *Backend, w *conn, s state) *group {
	return &group{
		b: b, w: w, from: s, head: s.head, headTime: s.headTime, now: b.now(),
		current: make(map[onto.Identity]*onto.Version), keys: make(map[string]commitRow),
	}
}

// run decides and writes all members. An error means that nothing was kept.
func (g *group) run(members []*member) error {
	err := g.fetch(members)
	for _, m := range members {
		if err != nil {
			break
		}
		m.result, m.err = g.decide(m.draft)
	}
	if err == nil && len(g.commits) > 0 {
		err = g.write()
	}
	if err != nil {
		g.b.rollback(g.w)
		return err
	}
	if len(g.commits) == 0 {
		g.b.rollback(g.w)
		g.vouch(members)
		return nil
	}
	return g.commit()
}

// vouch makes durable what verdicts without a commit rest on. Refusals promise
// nothing.
func (g *group) vouch(members []*member) {
	for _, m := range members {
		if m.err == nil {
			m.err = g.b.vouch(g.from)
		}
	}
}

// commit ends the transaction. Types stay as they were.
func (g *group) commit() error {
	if err := g.b.commit(g.w); err != nil {
		return err
	}
	g.b.durable.reached(standpoint{g.head, g.from.schemas, g.from.derived})
	return nil
}

// fetch reads the present versions of every identity that the members name.
func (g *group) fetch(members []*member) error {
	var ids identities
	for _, m := range members {
		for i := range m.draft.Writes {
			ids.add(&m.draft.Writes[i].Identity)
		}
		ids.addExpected(m.draft)
	}
	return g.lookup(ids)
}

// identities are split by kind, since each kind has tables of its own.
type identities struct{ entities, relations []*onto.Identity }

func (ids *identities) add(id *onto.Identity) {
	if id.Kind == onto.KindEntity {
		ids.entities = append(ids.entities, id)
	} else {
		ids.relations = append(ids.relations, id)
	}
}

func (ids *identities) addExpected(d *backend.Draft) {
	for _, expect := range [][]onto.Expectation{d.Expect, d.Fence} {
		for i, e := range expect {
			if !e.Head {
				ids.add(&expect[i].Identity)
			}
		}
	}
}

// lookup reads present versions into current.
func (g *group) lookup(ids identities) error {
	if err := lookup(g.w, g.b.table(onto.KindEntity), ids.entities, g.current); err != nil {
		return err
	}
	return lookup(g.w, g.b.table(onto.KindRelation), ids.relations, g.current)
}

// decide reaches the verdict on one draft, in the order the port prescribes.
func (g *group) decide(d *backend.Draft) (onto.Result, error) {
	if key := d.IdempotencyKey; key != "" {
		used, ok, err := g.keyUsed(key)
		if err != nil {
			return onto.Result{}, err
		}
		if ok {
			if err := backend.CheckRepeat(key, used.hash, d.Digest, used.commit.ID); err != nil {
				return onto.Result{}, err
			}
			return onto.Result{Commit: used.commit, Repeated: true}, nil
		}
	}
	if err := g.check(d); err != nil {
		return onto.Result{}, err
	}
	return g.apply(d)
}

// check judges the lease, expectations and schema stamps.
func (g *group) check(d *backend.Draft) error {
	if err := checkLease(g.w, d.Lease); err != nil {
		return err
	}
	for _, expect := range [][]onto.Expectation{d.Expect, d.Fence} {
		if err := g.checkExpected(expect); err != nil {
			return err
		}
	}
	for i := range d.Writes {
		if err := g.b.types.checkStamp(&d.Writes[i]); err != nil {
			return err
		}
	}
	return nil
}

func (g *group) checkExpected(expect []onto.Expectation) error {
	if err := backend.CheckHead(expect, g.head); err != nil {
		return err
	}
	for _, e := range expect {
		if e.Head {
			continue
		}
		if err := backend.CheckVersion(e, g.current[e.Identity]); err != nil {
			return err
		}
	}
	return nil
}

// apply adds the draft's changes to what will be written.
func (g *group) apply(d *backend.Draft) (onto.Result, error) {
	row, err := newCommitRow(d, g.head+1, g.time())
	if err != nil {
		return onto.Result{}, err
	}
	for i := range d.Writes {
		w := &d.Writes[i]
		if !backend.Changes(w, g.current[w.Identity]) {
			continue
		}
		row.Operations++
		g.add(w, row.ID)
		g.current[w.Identity] = asVersion(w, row.ID)
	}
	if row.Operations == 0 {
		return onto.Result{}, nil
	}
	g.head, g.headTime = row.ID, row.Time
	g.commits = append(g.commits, row)
	if key := row.IdempotencyKey; key != "" {
		g.keys[key] = row
	}
	return onto.Result{Commit: row.Commit}, nil
}

// add puts a version among what will be written. Current does not have it yet.
func (g *group) add(w *backend.Write, commit int64) {
	list := &g.entities
	if w.Kind == onto.KindRelation {
		list = &g.relations
	}
	if len(g.b.types.search) > 0 {
		g.noteWords(w, len(*list))
	}
	*list = append(*list, versionRow{w, commit, g.current[w.Identity] != nil})
}

// time is the next commit's: now, but not before the head's.
func (g *group) time() time.Time {
	if g.now.Before(g.headTime) {
		return g.headTime
	}
	return g.now
}

func newCommitRow(d *backend.Draft, id int64, at time.Time) (commitRow, error) {
	c, err := d.Header.Commit()
	c.ID, c.Time = id, at
	return commitRow{Commit: c, metadata: string(d.Metadata), hash: d.Digest}, err
}

// readMetadata decodes the metadata for whoever the commit is handed to.
func (c *commitRow) readMetadata() (err error) {
	if c.metadata != "" {
		c.Metadata, err = onto.DecodeObject([]byte(c.metadata))
	}
	return err
}

// asVersion is the version that a write makes.
func asVersion(w *backend.Write, commit int64) *onto.Version {
	v := &onto.Version{Identity: w.Identity, Op: w.Op, Commit: commit, SchemaVersion: w.SchemaVersion, Fields: w.Fields}
	if w.Op == onto.Delete {
		v.Fields = []byte("{}")
	}
	return v
}

// keyUsed looks for an idempotency key in the group and in the log.
func (g *group) keyUsed(key string) (usedKey, bool, error) {
	if used, ok := g.keys[key]; ok {
		err := used.readMetadata() // each caller has his own
		return usedKey{used.Commit, used.hash}, true, err
	}
	r, ok, err := g.w.queryRow(`SELECT `+commitList+`, c.draft_hash FROM commits c WHERE c.idempotency_key = ?`, key)
	if err != nil || !ok {
		return usedKey{}, false, err
	}
	c, err := readCommit(r)
	return usedKey{c, r.text(commitWidth)}, true, err
}

// write writes all rows and moves the projection along.
func (g *group) write() error {
	if err := insertCommits(g.w, g.commits); err != nil {
		return err
	}
	return g.insertVersions()
}

func (g *group) insertVersions() error {
	if err := g.b.failAt("versions"); err != nil {
		return err
	}
	entity, err := insertVersions(g.w, g.b.table(onto.KindEntity), g.entities)
	if err != nil {
		return err
	}
	relation, err := insertVersions(g.w, g.b.table(onto.KindRelation), g.relations)
	if err != nil || len(g.words) == 0 {
		return err
	}
	return g.writeWords(map[onto.Kind]int64{onto.KindEntity: entity, onto.KindRelation: relation})
}
