// Package decide reaches the verdicts on drafts. A driver looks up what the drafts
// of a round name, lets the [Round] decide them one after the other, and publishes
// what comes out as a whole: commits, versions and types.
//
// A verdict depends on what was looked up and on what earlier drafts of the round will
// write. Deciding writes nothing, so a draft that is refused leaves no trace.
package decide

import (
	"iter"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/refusal"
)

// Base is the state of a store before a round.
type Base struct {
	Head  int64
	Time  time.Time // of the newest commit
	Now   time.Time // in UTC and in the precision that is stored
	Types *Catalog  // nil if there are none
}

// Known is what a driver has looked up for drafts. A round changes the maps.
type Known struct {
	Newest map[onto.Identity]*onto.Version // the newest version of identities that have one; see [Identities]
	Keys   map[string]Commit               // the commits that have used idempotency keys
	Counts map[onto.TypeName]int64         // how many versions there are of types to be purged; see [Purges]

	Claims    map[ClaimName]Holder // the claims that drafts ack and that are held
	Positions map[string]int64     // the positions that drafts move; 0 if there is none
	LastEvent time.Time            // the time of the newest event; needed where events are emitted
}

// Identities yields the identities that a draft is decided on.
func Identities(d *backend.Draft) iter.Seq[*onto.Identity] {
	return func(yield func(*onto.Identity) bool) {
		for i := range d.Writes {
			if !yield(&d.Writes[i].Identity) {
				return
			}
		}
		for _, expect := range [...][]onto.Expectation{d.Expect, d.Fence} {
			for i := range expect {
				if !expect[i].Head && !yield(&expect[i].Identity) {
					return
				}
			}
		}
	}
}

// Purges yields the types that a draft purges.
func Purges(d *backend.Draft) iter.Seq[onto.TypeName] {
	return func(yield func(onto.TypeName) bool) {
		if d.Evolve == nil {
			return
		}
		for _, t := range d.Evolve.End {
			if t.Purge && !yield(t.TypeName()) {
				return
			}
		}
	}
}

// Round decides drafts and gathers what they make.
type Round struct {
	Known
	Commits  []Commit
	Versions []Version // by commit; those of a draft with chunks are not here
	Types    *Catalog  // that the round leaves behind

	Events []onto.Event    // in their order
	Acks   []onto.Claim    // each once
	Moved  []onto.Position // one after the other

	head int64
	time time.Time
	now  time.Time
}

// Version is a version that a round makes. It shares its fields with the write.
type Version struct {
	onto.Version
	Before *onto.Version // the version that it supersedes; nil for none
	Sum    int64         // its checksum, if the driver notes one
}

// NewRound starts a round with nothing looked up yet.
func NewRound(b Base) *Round {
	if b.Types == nil {
		b.Types = NewCatalog(nil)
	}
	return &Round{
		Known: Known{
			Newest: map[onto.Identity]*onto.Version{}, Keys: map[string]Commit{}, Counts: map[onto.TypeName]int64{},
			Claims: map[ClaimName]Holder{}, Positions: map[string]int64{},
		},
		Types: b.Types, head: b.Head, time: b.Time, now: b.Now,
	}
}

// Head is the newest commit, with those of the round.
func (r *Round) Head() int64 { return r.head }

// Now is the present time of the round.
func (r *Round) Now() time.Time { return r.now }

// Append decides a draft and adds what it makes to the round. Barred is why the draft
// may not write, or nil: the lease that it carries is not held, or another holder has
// the write lease. A draft that was committed before is answered all the same. After an
// error or a panic of Admit the round is unchanged.
func (r *Round) Append(d *backend.Draft, barred error) (onto.Result, error) {
	c := Candidate{round: r, draft: d}
	if ended, res, err := c.begin(barred); ended {
		return res, err
	}
	versions, err := c.Chunk(r.Versions, d.Writes)
	if err != nil {
		return onto.Result{}, err
	}
	res := c.End()
	added := versions[len(r.Versions):]
	r.Versions = versions
	for i := range added {
		r.Newest[added[i].Identity] = &added[i].Version
	}
	return res, nil
}

// Register adds what is missing of a registration to the types, and returns the
// newest versions of its types.
func (r *Round) Register(reg *backend.Registration) ([]onto.SchemaVersion, error) {
	all, err := register(r.Types.All, reg, r.head+1, r.now)
	if err != nil {
		return nil, err
	}
	r.Types = NewCatalog(all)
	return Named(all, reg), nil
}

// nextTime is the time of the next commit: now, but not before the head's.
func (r *Round) nextTime() time.Time {
	if r.now.Before(r.time) {
		return r.time
	}
	return r.now
}

// expect fails if an expectation does not hold. Those of the head come first.
func (r *Round) expect(list []onto.Expectation) error {
	for _, head := range [...]bool{true, false} {
		for i := range list {
			if list[i].Head != head {
				continue
			}
			if err := r.met(&list[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// fence fails with Stale for the first fence, in their order, that does not hold.
func (r *Round) fence(list []onto.Expectation) error {
	for i := range list {
		if err := r.met(&list[i]); err != nil {
			return refusal.Stale(err)
		}
	}
	return nil
}

// met fails if an expectation does not hold.
func (r *Round) met(e *onto.Expectation) error {
	if e.Head {
		if e.Commit != r.head {
			return refusal.HeadMismatch(e.Commit, r.head)
		}
		return nil
	}
	var at int64
	if v := r.Newest[e.Identity]; v != nil && v.Live() {
		at = v.Commit
	}
	if e.Commit != at {
		return refusal.VersionMismatch(*e, at)
	}
	return nil
}

// purge drops the versions of purged types.
func (r *Round) purge(purged []onto.TypeName) {
	for _, t := range purged {
		for id := range r.Newest {
			if id.TypeName() == t {
				delete(r.Newest, id)
			}
		}
		r.Counts[t] -= r.count(t)
	}
}

// count is how many versions of a type there are, with those of the round.
func (r *Round) count(t onto.TypeName) int64 {
	n := r.Counts[t]
	for i := range r.Versions {
		if r.Versions[i].TypeName() == t {
			n++
		}
	}
	return n
}
