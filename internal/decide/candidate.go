package decide

import (
	"encoding/json"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/refusal"
	"github.com/ontologia/onto/internal/typelist"
)

// Candidate is a draft whose writes are being decided, all at once by [Round.Append] or
// in chunks.
type Candidate struct {
	Types *Catalog // that the draft leaves behind

	round  *Round
	draft  *backend.Draft
	commit Commit         // under construction
	said   map[string]any // its metadata

	ends   map[onto.TypeName]int // the last version of types that end with the draft and do not begin anew
	purged []onto.TypeName
}

// Begin decides everything about a draft but its writes, which Draft.Writes does
// not have. It returns nil if that ends it: the draft is refused, or was committed
// before. Barred is as in [Round.Append].
func (r *Round) Begin(d *backend.Draft, barred error) (*Candidate, onto.Result, error) {
	c := &Candidate{round: r, draft: d}
	if ended, res, err := c.begin(barred); ended {
		return nil, res, err
	}
	return c, onto.Result{}, nil
}

// begin reaches the verdicts in the order that the port prescribes. It reports
// whether the draft ends with the result or the error.
func (c *Candidate) begin(barred error) (ended bool, res onto.Result, err error) {
	r, d := c.round, c.draft
	if d.IdempotencyKey != "" {
		if used, ok := r.Keys[d.IdempotencyKey]; ok {
			res, err := r.repeat(&used, d)
			if err == nil {
				r.settle(d)
			}
			return true, res, err
		}
	}
	if barred != nil {
		return true, onto.Result{}, barred
	}
	if err := r.checkBus(d); err != nil {
		return true, onto.Result{}, err
	}
	if d.Causation > r.head {
		return true, onto.Result{}, refusal.NoCause(d.Causation, r.head)
	}
	if err := r.expect(d.Expect); err != nil {
		return true, onto.Result{}, err
	}
	if err := r.fence(d.Fence); err != nil {
		return true, onto.Result{}, err
	}
	c.Types = r.Types
	if d.Evolve != nil {
		if err := c.evolve(d.Evolve); err != nil {
			return true, onto.Result{}, err
		}
	}
	said, err := d.Header.Commit()
	if err != nil {
		return true, onto.Result{}, err
	}
	c.said, said.Metadata = said.Metadata, nil
	said.ID, said.Time = r.head+1, r.nextTime()
	c.commit = Commit{Commit: said, Metadata: d.Metadata, Digest: d.Digest}
	if d.Begin != nil {
		d.Begin()
	}
	return false, onto.Result{}, nil
}

// repeat is the verdict on a draft whose idempotency key was used.
func (r *Round) repeat(used *Commit, d *backend.Draft) (onto.Result, error) {
	if used.Digest != d.Digest {
		return onto.Result{}, refusal.KeyConflict(d.IdempotencyKey, used.ID)
	}
	c, err := used.HandOut(Purged(r.Types.All))
	return onto.Result{Commit: c, At: c.ID, Repeated: true}, err
}

// Commit is the commit as far as it is decided.
func (c *Candidate) Commit() *Commit { return &c.commit }

// Chunk decides some writes and appends the versions that they make. Their newest
// versions, as looked up by the driver, are in Round.Newest. An error refuses the
// draft.
func (c *Candidate) Chunk(versions []Version, writes []backend.Write) ([]Version, error) {
	whole, err := c.checkStamps(writes)
	if err != nil {
		return nil, err
	}
	for i := range writes {
		w := &writes[i]
		newest := c.round.Newest[w.Identity]
		if c.purged != nil && slices.Contains(c.purged, w.TypeName()) {
			newest = nil
		}
		if !whole {
			merged, err := c.Types.Merged(w, newest)
			if err != nil {
				return nil, c.unmerged(w, newest, err)
			}
			w = merged
		}
		if c.draft.Admit != nil {
			admitted, err := c.draft.Admit(w, newest)
			if err != nil {
				return nil, err
			}
			if !admitted {
				continue
			}
		}
		if w.Once && newest != nil && !backend.Repeats(w, newest) {
			return nil, refusal.FactKnown(w, newest)
		}
		if w.Once && newest != nil || !backend.Changes(w, newest) {
			continue
		}
		if len(versions) == cap(versions) {
			versions = slices.Grow(versions, len(writes)-i) // the rest may change as well
		}
		versions = append(versions, Version{Version: c.version(w), Before: newest})
		c.commit.count(w)
	}
	return versions, nil
}

// unmerged is the error for a write that cannot be merged: that of Admit, if it has one.
func (c *Candidate) unmerged(w *backend.Write, newest *onto.Version, err error) error {
	if c.draft.Admit == nil {
		return err
	}
	if _, refused := c.draft.Admit(w, newest); refused != nil {
		return refused
	}
	return err
}

// version is what a write makes.
func (c *Candidate) version(w *backend.Write) onto.Version {
	v := onto.Version{Identity: w.Identity, Op: w.Op, Commit: c.commit.ID, SchemaVersion: w.SchemaVersion, Fields: w.Fields}
	if w.Op == onto.Delete {
		v.Fields = json.RawMessage("{}")
	}
	return v
}

// checkStamps checks writes, and reports whether they know all fields of the newest
// versions. Writes of a type mostly follow each other.
func (c *Candidate) checkStamps(writes []backend.Write) (whole bool, err error) {
	var name onto.TypeName
	var newest *onto.SchemaVersion
	whole = true
	for i := range writes {
		w := &writes[i]
		if w.Type != name.Name || w.Kind != name.Kind {
			name = w.TypeName()
			newest = c.Types.Newest(name)
		}
		if newest != nil && newest.Version == w.SchemaVersion {
			whole = whole && w.Known == nil
			continue
		}
		whole = false
		if err := c.checkStamp(w, newest); err != nil {
			return false, err
		}
	}
	return whole, nil
}

// checkStamp checks a write that was not made for the newest version of its type against
// the types that the draft leaves behind. A draft that evolves types knows them. Of a type that ends with the draft, deletes are
// allowed.
func (c *Candidate) checkStamp(w *backend.Write, newest *onto.SchemaVersion) error {
	t := w.TypeName()
	if newest != nil {
		if c.draft.Evolve == nil && typelist.Continues(c.Types.All, t, w.SchemaVersion) {
			return nil
		}
		return refusal.StampMismatch(w, newest.Version)
	}
	last, ends := c.ends[t]
	switch {
	case !ends:
		return refusal.StampMismatch(w, 0)
	case w.Op != onto.Delete || w.SchemaVersion != last:
		return refusal.TypeEnds(w, last)
	}
	return nil
}

// End adds what the draft leaves behind to the round, and its commit if it makes
// versions. Nothing else may be decided between Begin and End.
func (c *Candidate) End() onto.Result {
	r := c.round
	if c.draft.Evolve != nil {
		r.Types = c.Types
		r.purge(c.purged)
	}
	r.settle(c.draft)
	if c.commit.Operations == 0 {
		if len(c.draft.Acks) > 0 {
			r.Emit(c.draft.Events, 0)
		}
		return onto.Result{At: r.head}
	}
	riding := r.Emit(c.draft.Events, c.commit.ID)
	c.commit.Events = len(riding)
	for i := range riding {
		c.commit.EventSum += backend.EventSum(&riding[i])
	}
	r.head, r.time = c.commit.ID, c.commit.Time
	r.Commits = append(r.Commits, c.commit)
	if c.commit.IdempotencyKey != "" {
		r.Keys[c.commit.IdempotencyKey] = c.commit
	}
	made := c.commit.Commit
	made.Metadata = c.said
	return onto.Result{Commit: made, At: made.ID}
}
