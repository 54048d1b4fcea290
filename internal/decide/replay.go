package decide

import (
	"context"
	"iter"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/refusal"
	"github.com/ontologia/onto/internal/typelist"
)

// Replay adds a log that was decided elsewhere to a round. A driver writes the types,
// removes what is purged, then takes the pieces one after the other: the commits of a piece
// have been added to Round.Commits when it gets the versions. It looks up the newest versions
// of their identities, if it needs to know what they supersede, and calls Link.
type Replay struct {
	Types  *Catalog        // that the restoration leaves behind
	Purged []onto.TypeName // types that have versions to be removed

	round *Round
	log   iter.Seq2[backend.LogEntry, error]
	begun *backend.LogCommit // the commit that began last; nil before the first
	seen  int                // how many of its versions
	last  onto.Identity      // of them
	stamp Touched            // a version of a type that exists: that of the version before
}

// Replay begins a restoration. An error refuses it.
func (r *Round) Replay(rs *backend.Restoration) (*Replay, error) {
	if rs.Since != r.head {
		return nil, refusal.HeadMismatch(rs.Since, r.head)
	}
	types, purged, err := restoredTypes(r.Types.All, rs.Types)
	if err != nil {
		return nil, err
	}
	return &Replay{Types: NewCatalog(types), Purged: purged, round: r, log: rs.Log}, nil
}

// restoredTypes is the types after a restoration, and those among them whose versions are
// purged by it.
func restoredTypes(stored, given []onto.SchemaVersion) (all []onto.SchemaVersion, purged []onto.TypeName, err error) {
	all = typelist.Copy(given)
	found := 0
	for i := range all {
		v := &all[i]
		if i > 0 && typelist.Compare(all[i-1], *v) >= 0 {
			return nil, nil, refusal.TypesDisordered(v)
		}
		gone := v.End != nil && v.End.Purged
		at, ok := slices.BinarySearchFunc(stored, *v, typelist.Compare)
		if ok {
			was := &stored[at]
			if found++; was.Hash != v.Hash || was.Since != v.Since || was.End != nil && (v.End == nil || was.End.Commit != v.End.Commit) {
				return nil, nil, refusal.OtherType(v)
			}
			if was.End != nil && was.End.Purged {
				if !gone {
					return nil, nil, refusal.OtherType(v)
				}
				continue
			}
			v.JSON, v.Created, v.Runtime, v.Reason, v.Actor, v.Comment = was.JSON, was.Created, was.Runtime, was.Reason, was.Actor, was.Comment
		}
		if t := v.Schema.TypeName(); gone && typelist.LastOf(stored, t) >= 0 && !slices.Contains(purged, t) {
			purged = append(purged, t)
		}
	}
	if found < len(stored) {
		for i := range stored {
			if _, ok := slices.BinarySearchFunc(all, stored[i], typelist.Compare); !ok {
				return nil, nil, refusal.OtherType(&stored[i])
			}
		}
	}
	return all, purged, nil
}

// Pieces yields the versions of the log some at a time: at most so many, of about so many
// bytes; 0 is no bound. A piece is valid until the next one is requested; the last may be
// empty. An error of the log or the context, or the refusal of an entry, comes last.
func (p *Replay) Pieces(ctx context.Context, most, bytes int) iter.Seq2[[]Version, error] {
	return func(yield func([]Version, error) bool) {
		var piece []Version
		size, commits := 0, 0
		if p.log != nil {
			for e, err := range p.log {
				if err == nil {
					err = ctx.Err()
				}
				if err == nil {
					err = p.take(&e)
				}
				if err != nil {
					yield(nil, err)
					return
				}
				size += e.Size()
				if e.Commit != nil {
					commits++
				} else {
					piece = append(piece, Version{Version: e.Version})
				}
				if most > 0 && len(piece)+commits >= most || bytes > 0 && size >= bytes {
					if !yield(piece, nil) {
						return
					}
					clear(piece) // so that large fields are not kept
					piece, size, commits = piece[:0], 0, 0
				}
			}
		}
		if err := p.ended(); err != nil {
			yield(nil, err)
			return
		}
		yield(piece, nil)
	}
}

// take checks an entry and counts it.
func (p *Replay) take(e *backend.LogEntry) error {
	if e.Commit != nil {
		return p.begin(e.Commit)
	}
	v := &e.Version
	switch {
	case p.begun == nil || v.Commit != p.begun.ID:
		return refusal.LogStray(v)
	case p.seen > 0 && p.last.Compare(v.Identity) >= 0:
		return refusal.LogDisordered(v)
	case !p.stamped(v):
		return refusal.LogMisstamped(v)
	}
	p.seen++
	p.last = v.Identity
	p.round.Commits[len(p.round.Commits)-1].touch(v.TypeName(), v.SchemaVersion)
	return nil
}

// stamped reports whether the type of a version has the version that it is stamped with.
// Those of a type mostly follow each other.
func (p *Replay) stamped(v *onto.Version) bool {
	s := &p.stamp
	if s.Version != v.SchemaVersion || s.Name != v.Type || s.Kind != v.Kind {
		if indexOf(p.Types.All, v.TypeName(), v.SchemaVersion) < 0 {
			return false
		}
		s.TypeName, s.Version = v.TypeName(), v.SchemaVersion
	}
	return true
}

// begin adds a commit to the round.
func (p *Replay) begin(c *backend.LogCommit) error {
	r := p.round
	if err := p.ended(); err != nil {
		return err
	}
	switch {
	case c.ID != r.head+1:
		return refusal.LogGap(c.ID, r.head+1)
	case c.Time.Before(r.time):
		return refusal.LogGoesBack(c, r.time)
	}
	if err := c.Check(); err != nil {
		return err
	}
	kept := Commit{Commit: c.Commit, Metadata: c.Metadata, Digest: c.Digest, EventSum: c.EventSum}
	kept.Commit.Metadata = nil
	if key := c.IdempotencyKey; key != "" {
		if used, ok := r.Keys[key]; ok {
			return refusal.LogKeyUsed(c, used.ID)
		}
		r.Keys[key] = kept
	}
	p.begun, p.seen = c, 0
	r.head, r.time = c.ID, c.Time
	r.Commits = append(r.Commits, kept)
	return nil
}

// ended checks that the commit that began last has as many versions as it says.
func (p *Replay) ended() error {
	if p.begun != nil && p.seen != p.begun.Operations {
		return refusal.LogMiscounted(p.begun, p.seen)
	}
	return nil
}

// Link tells versions of a piece what they supersede: the newest versions in Round.Newest,
// or those before them in the piece.
func (p *Replay) Link(piece []Version) {
	for i := range piece {
		v := &piece[i]
		v.Before = p.round.Newest[v.Identity]
		p.round.Newest[v.Identity] = &v.Version
	}
}

// End leaves the types of the restoration behind. The log was read to its end.
func (p *Replay) End() { p.round.Types = p.Types }
