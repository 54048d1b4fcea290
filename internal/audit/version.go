package audit

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/maphash"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/computed"
)

// Version checks a version by itself: its fields are a canonical JSON object, and none
// after a delete. It reports whether nothing was found.
func (l Log) Version(v *onto.Version) (sound bool, err error) {
	canonical := l.Canonical
	if canonical == nil {
		canonical = canonicalObject
	}
	fields, bad := canonical(v.Fields)
	switch {
	case bad != nil || !bytes.Equal(fields, v.Fields):
		err = l.found(FieldsNotCanonical, "%s at commit %d: its JSON is not as it was written", v.Identity, v.Commit)
	case v.Op != onto.Put && v.Op != onto.Delete:
		err = l.found(OpUnknown, "%s at commit %d: op %q is unknown", v.Identity, v.Commit, v.Op)
	case v.Op == onto.Delete && string(v.Fields) != "{}":
		err = l.found(DeleteFields, "commit %d deletes %s and leaves fields", v.Commit, v.Identity)
	default:
		return true, nil
	}
	return false, err
}

// Unfit is a version whose fields are not those of the version of its type that it says it is
// of. It reports false for one that fits.
func Unfit(v *onto.Version, s *onto.Schema) (f onto.Finding, unfit bool) {
	if v.Op != onto.Put {
		return f, false
	}
	unfit = true
	if err := s.CheckStored(v.Fields); err != nil {
		f = notOfType(v, err)
	} else if err := computed.Of(s).Check(v.Identity, v.Fields); err != nil {
		f = notOfType(v, err)
	} else {
		unfit = false
	}
	return f, unfit
}

func notOfType(v *onto.Version, err error) onto.Finding {
	return FieldsUnfit.Finding("%s at commit %d does not fit version %d of its type: %v", v.Identity, v.Commit, v.SchemaVersion, err)
}

// Twice reports an identity that has several versions in one commit.
func (l Log) Twice(id onto.Identity, commit, versions int64) error {
	return l.found(VersionTwice, "%s has %d versions in commit %d", id, versions, commit)
}

// Order checks two consecutive versions where they are stored in order of identity,
// then commit.
func (l Log) Order(before, v *onto.Version) error {
	switch order := cmp.Or(before.Identity.Compare(v.Identity), cmp.Compare(before.Commit, v.Commit)); {
	case order == 0:
		return l.Twice(v.Identity, v.Commit, 2)
	case order > 0:
		return l.found(VersionOrder, "%s of commit %d is out of order", v.Identity, v.Commit)
	}
	return nil
}

// Rows are versions that claim to be of one version of their type: a single one, or all
// that the store has.
type Rows struct {
	onto.TypeName
	Version  int
	Identity onto.Identity // of a single version; zero for several

	First, Last int64 // commits
	LastPut     int64 // the last commit that puts one; 0 if none does
}

// Stamp is Rows for one version.
func (l Log) Stamp(v *onto.Version) error {
	r := Rows{TypeName: v.TypeName(), Version: v.SchemaVersion, Identity: v.Identity, First: v.Commit, Last: v.Commit}
	if v.Op == onto.Put {
		r.LastPut = v.Commit
	}
	return l.Rows(&r)
}

// Rows checks whether the version of their type existed and was the newest when rows
// were written. The commit that ends a type deletes its live rows.
func (l Log) Rows(r *Rows) error {
	i := l.types.find(r.TypeName, r.Version)
	if i < 0 {
		return l.found(SchemaUnknown, "%s: schema version %d does not exist", r, r.Version)
	}
	s, next := &l.types.all[i], l.types.next(i)
	switch end := s.End; {
	case r.First < s.Since:
		return l.found(SchemaSince, "%s: schema version %d begins with commit %d", r, r.Version, s.Since)
	case end != nil && (r.LastPut >= end.Commit || r.Last > end.Commit):
		return l.found(SchemaEnded, "%s: the type ended with commit %d", r, end.Commit)
	case end != nil && end.Purged && r.First < end.Commit:
		return l.found(SchemaPurged, "%s: the type was purged", r)
	case end == nil && next != nil && r.Last >= next.Since:
		return l.found(SchemaSince, "%s: schema version %d was no longer the newest, since version %d begins with commit %d", r, r.Version, next.Version, next.Since)
	}
	return nil
}

// String names the rows.
func (r *Rows) String() string {
	if r.Identity != (onto.Identity{}) {
		return fmt.Sprintf("%s of commit %d", r.Identity, r.First)
	}
	return fmt.Sprintf("rows of %s %s in commits %d to %d", r.Kind, r.Name, r.First, r.Last)
}

// Endpoint is a live relation that leads to an entity which does not exist. That is
// allowed, and often a mistake.
func Endpoint(relation, end onto.Identity) onto.Finding {
	return EndpointMissing.Finding("%s: there is no %s", relation, end)
}

// History is the newest version of each identity of a type, in a few bytes for each.
type History struct {
	// Loose says that some versions are not known, so that changes between versions are
	// unknown.
	Loose bool

	seeds  [2]maphash.Seed
	newest map[[2]uint64]state // by the hash of an identity
}

// state is what is known of a version.
type state struct {
	commit int64
	fields uint64 // the hash of its fields
	live   bool
}

// NewHistory returns a history without versions.
func NewHistory() *History {
	return &History{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, newest: map[[2]uint64]state{}}
}

func (h *History) hash(id onto.Identity) [2]uint64 {
	return [2]uint64{maphash.Comparable(h.seeds[0], id), maphash.Comparable(h.seeds[1], id)}
}

func (h *History) stateOf(v *onto.Version) state {
	return state{commit: v.Commit, fields: maphash.Bytes(h.seeds[0], v.Fields), live: v.Live()}
}

// Newest is the commit of an identity's newest version; 0 if there is none.
func (h *History) Newest(id onto.Identity) int64 { return h.newest[h.hash(id)].commit }

// Live reports whether a version is the newest of its identity and no delete.
func (h *History) Live(v *onto.Version) bool {
	return v.Live() && h.newest[h.hash(v.Identity)] == h.stateOf(v)
}

// Take takes the next version of an identity, which may change nothing.
func (h *History) Take(v *onto.Version) { h.newest[h.hash(v.Identity)] = h.stateOf(v) }

// Change takes the next version of an identity: each changes something.
func (l Log) Change(h *History, v *onto.Version) error {
	before, now := h.newest[h.hash(v.Identity)], h.stateOf(v)
	h.Take(v)
	switch {
	case h.Loose:
		return nil
	case v.Op == onto.Put && before.live && before.fields == now.fields:
		return l.found(VersionUnchanged, "%s of commit %d repeats the version of commit %d", v.Identity, v.Commit, before.commit)
	case v.Op == onto.Delete && !before.live:
		return l.found(DeleteOfNothing, "commit %d deletes %s, which does not exist", v.Commit, v.Identity)
	}
	return nil
}
