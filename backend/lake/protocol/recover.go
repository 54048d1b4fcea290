package protocol

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/bucket"
)

// A head that is lost, damaged, replaced by an older one or by that of another store can be
// made again from what it named. A manifest names the one before it, and was planned on a
// head that named that one. So every manifest that another one names was published. Of the
// last ones, which no other names, at most one was: if there are several, nothing tells
// which. A single one counts as published: otherwise commits that were acknowledged could be
// lost.

// Recovery is a head that can be made again.
type Recovery struct {
	Found   string // what stands where the head should be
	StoreID string
	Commit  int64  // that the head leads to
	Attempt string // of its round
	Catalog string

	Last      []LastRound // the rounds that could be the last one
	Undecided bool        // nothing tells which of them was
	Damaged   []string    // manifests that cannot be read
	Copy      backend.CopyState
	Lost      int64 // how many commits the head that is there names beyond Commit: what holds them is gone

	head *Head
	tag  bucket.Tag // of the object that is replaced; "" if there is none
}

// LastRound is a round that no other one follows.
type LastRound struct {
	Attempt       string
	First, Commit int64
	Time          string
	Runtime       string
}

// found is what stands where the head should be.
type found struct {
	text string
	head *Head // nil if it is none
	body []byte
	tag  bucket.Tag
}

// PlanRecovery finds the newest head that the manifests prove, and changes nothing. Where
// nothing tells which of several manifests was published, the attempt says; "" is for none
// named. It fails with Uninitialized if there are no commits, and with Conflict if the head
// that is there is the newest.
func (l *Log) PlanRecovery(ctx context.Context, attempt string) (*Recovery, error) {
	was, err := l.findHead(ctx)
	if err != nil {
		return nil, err
	}
	s := &salvage{log: l, was: was, wanted: attempt}
	if err := s.list(ctx); err != nil {
		return nil, err
	}
	if err := s.tips(ctx); err != nil {
		return nil, err
	}
	return s.plan(ctx)
}

// findHead reads the object where the head should be, whatever it is.
func (l *Log) findHead(ctx context.Context) (*found, error) {
	o, err := l.b.Get(ctx, HeadKey, bucket.Range{Max: MaxSmall}, "")
	switch {
	case errors.Is(err, bucket.ErrNotFound):
		return &found{text: "there is no head"}, nil
	case errors.Is(err, bucket.ErrTooLarge):
		return nil, onto.Errorf(onto.Corrupt, "%s: it has more than %d bytes, so that it is no head", HeadKey, int64(MaxSmall)).
			WithHint("move it away, then try again")
	case err != nil:
		return nil, err
	}
	f := &found{body: o.Data, tag: o.Tag}
	if f.head, err = ParseHead(o.Data); err != nil {
		if h := new(Head); Decode(HeadKey, o.Data, h) == nil && h.Format > Format {
			return nil, err // of a later program, which knows better
		}
		f.text = err.Error()
		return f, nil
	}
	f.text = fmt.Sprintf("the head of commit %d of the store %s", f.head.CommitID, f.head.StoreID)
	return f, nil
}

// salvage is a recovery under construction.
type salvage struct {
	log    *Log
	was    *found
	wanted string

	keys      map[string]bool // of objects that a catalog can name
	manifests []name          // by commit, the highest first
	catalogs  []name          // by number, the highest first

	proved  string      // the key of the last one that another one names; "" if there is none
	last    []*Manifest // those of the last round
	damaged []string    // manifests of higher commits that cannot be read
}

// list lists what is there.
func (s *salvage) list(ctx context.Context) error {
	s.keys = map[string]bool{}
	for _, prefix := range []string{"commits/", "snapshots/", "meta/catalog/", "meta/checkpoints/"} {
		for e, err := range s.log.Each(ctx, prefix) {
			if err != nil {
				return err
			}
			s.keys[e.Key] = true
			switch n, ok := parseKey(e.Key); {
			case ok && n.role == manifestRole:
				s.manifests = append(s.manifests, n)
			case ok && n.role == catalogRole:
				s.catalogs = append(s.catalogs, n)
			}
		}
	}
	if len(s.manifests) == 0 {
		return onto.Errorf(onto.Uninitialized, "there are no commits here that a head could lead to")
	}
	highest := func(a, b name) int {
		return cmp.Or(cmp.Compare(b.number, a.number), strings.Compare(a.attempt, b.attempt))
	}
	slices.SortFunc(s.manifests, highest)
	slices.SortFunc(s.catalogs, highest)
	return nil
}

// tips finds the last rounds: it reads manifests, those of the highest commits first, until
// one is named by another. Attempts that lost can have higher commits than that, but have made
// an earlier round.
func (s *salvage) tips(ctx context.Context) error {
	named := map[string]bool{}
	for _, n := range s.manifests {
		key := n.String()
		if named[key] {
			s.proved = key
			break
		}
		m, err := s.read(ctx, n)
		if err != nil {
			return err
		}
		if m == nil {
			continue
		}
		if m.ParentPath != nil {
			named[*m.ParentPath] = true
		}
		if len(s.last) > 0 && m.Round > s.last[0].Round {
			s.last = nil
		}
		if len(s.last) == 0 || m.Round == s.last[0].Round {
			s.last = append(s.last, m)
		}
	}
	if len(s.last) == 0 {
		return onto.Errorf(onto.Corrupt, "no manifest can be read that a head could name: %s", strings.Join(s.damaged, ", ")).
			WithHint("restore them from a backup of the bucket")
	}
	return nil
}

// read reads a manifest; nil if it is damaged.
func (s *salvage) read(ctx context.Context, n name) (*Manifest, error) {
	key := n.String()
	var m *Manifest
	err := s.log.readWhole(ctx, key, func(body []byte) (err error) {
		m, err = ParseManifest(key, body)
		return err
	})
	if onto.CodeOf(err) == onto.Corrupt {
		s.damaged = append(s.damaged, key)
		return nil, nil
	}
	return m, err
}

// path is where a manifest is.
func (m *Manifest) path() string { return manifestPath(m.CommitID, m.Attempt) }

// plan makes the head of the newest manifest.
func (s *salvage) plan(ctx context.Context) (*Recovery, error) {
	r := &Recovery{tag: s.was.tag}
	r.Found, r.Damaged = s.was.text, s.damaged
	m := s.last[0]
	for _, other := range s.last {
		r.Last = append(r.Last, LastRound{Attempt: other.Attempt, First: other.First, Commit: other.CommitID, Time: other.CreatedAt, Runtime: other.RuntimeID})
		if other.Attempt == s.wanted {
			m = other
		}
	}
	if s.wanted != "" && m.Attempt != s.wanted {
		return nil, onto.Errorf(onto.NotFound, "no round that could be the last one is of the attempt %.40q", s.wanted).WithHint("see the plan without an attempt")
	}
	newest, may := s.judge(m)
	if newest {
		return nil, onto.Errorf(onto.Conflict, "the head is whole, and leads to commit %d: nothing proves a newer one", s.was.head.CommitID).
			WithHint("if something else is wrong, look for it").WithCommand("doctor")
	}
	r.Undecided = (may || len(s.last) > 1) && s.wanted == ""
	r.StoreID, r.Commit, r.Attempt = m.StoreID, m.CommitID, m.Attempt
	if was := s.was.head; was != nil && was.StoreID == m.StoreID {
		r.Lost = max(0, was.CommitID-m.CommitID)
	}
	h, err := s.headOf(ctx, m)
	if err != nil {
		return nil, err
	}
	r.head, r.Catalog, r.Copy = h, h.Catalog, h.Copy.State()
	return r, nil
}

// judge tells whether the head that is there is the newest, and whether it may be: the rounds
// after it can be of attempts that were never published.
func (s *salvage) judge(m *Manifest) (newest, may bool) {
	h := s.was.head
	if h == nil || h.StoreID != m.StoreID || len(s.catalogs) > 0 && s.catalogs[0].number > h.Sequence+1 { // which was planned on a later head
		return false, false
	}
	if h.ManifestPath == nil {
		return false, s.proved == ""
	}
	return s.isLast(*h.ManifestPath), *h.ManifestPath == s.proved
}

// isLast reports whether a path is that of one of the last manifests.
func (s *salvage) isLast(path string) bool {
	return slices.ContainsFunc(s.last, func(m *Manifest) bool { return m.path() == path })
}

// gap is by how much the number of a head that is made again is higher than any that is
// known: other heads may have come in between, of which nothing is left.
const gap = 1 << 20

// headOf is the head that leads to a manifest, with the newest catalog that fits.
func (s *salvage) headOf(ctx context.Context, m *Manifest) (*Head, error) {
	path := m.path()
	h := &Head{
		CommitID: m.CommitID, ManifestPath: &path, StoreID: m.StoreID, UpdatedAt: s.log.now(), RuntimeID: s.log.set.Runtime,
		Attempt: s.log.set.Attempt(), Recent: []string{m.Attempt}, Format: formatFirst, Sequence: m.Round, Copy: m.Copy,
	}
	for _, a := range m.Ancestors[:min(len(m.Ancestors), RecentAttempts-1)] {
		h.Recent = append(h.Recent, a.Attempt)
	}
	for len(h.Recent) < RecentAttempts { // these stand for heads of which nothing is known
		h.Recent = append(h.Recent, s.log.set.Attempt())
	}
	if s.was.body != nil {
		h.Previous = HashOf(s.was.body)
	}
	if len(s.catalogs) > 0 {
		h.Sequence = max(h.Sequence, s.catalogs[0].number)
	}
	if w := s.was.head; w != nil && w.StoreID == m.StoreID {
		h.Sequence = max(h.Sequence, w.Sequence)
		if w.CommitID == m.CommitID { // the end of a copy can come without commits
			h.Copy = w.Copy
		}
	}
	h.Sequence += gap
	var err error
	if h.Locks, err = s.locks(ctx); err != nil {
		return nil, err
	}
	for _, n := range s.catalogs {
		h.Catalog = n.String()
		c, err := s.catalog(ctx, n, h, m)
		if err != nil {
			return nil, err
		}
		if c == nil {
			continue
		}
		h.Format = h.formatOf(c)
		return h, nil
	}
	return nil, onto.Errorf(onto.Corrupt, "there is no catalog that goes with commit %d", m.CommitID).
		WithHint("restore the objects below meta/catalog from a backup of the bucket")
}

// catalog reads a catalog, and returns nil if it does not go with a head: it cannot be read,
// or names what is not there, or lacks what the manifest needs.
func (s *salvage) catalog(ctx context.Context, n name, h *Head, m *Manifest) (*Catalog, error) {
	var c *Catalog
	err := s.log.readWhole(ctx, n.String(), func(body []byte) (err error) {
		c, err = ParseCatalog(n.String(), body)
		return err
	})
	if onto.CodeOf(err) == onto.Corrupt {
		return nil, nil
	}
	if err != nil || c.fits(h) != nil {
		return nil, err
	}
	for _, e := range c.Checkpoints {
		if !s.keys[e.Path] {
			return nil, nil
		}
	}
	for _, t := range c.Tables {
		for _, f := range t.Files {
			if !s.keys[f.Path] {
				return nil, nil
			}
		}
	}
	types, err := ReadTypes(c)
	if err != nil {
		return nil, nil
	}
	for _, f := range m.Files {
		if v := types.Newest(f.TypeName()); v == nil || v.Version < f.Version {
			return nil, nil
		}
	}
	return c, nil
}

// locks is the epochs of the leases whose locks are there. A head that names a free lease
// does no harm.
func (s *salvage) locks(ctx context.Context) (map[string]int64, error) {
	locks := map[string]int64{}
	for e, err := range s.log.Each(ctx, locksFolder) {
		if err != nil {
			return nil, err
		}
		name, _, transient := parseTransientKey(e.Key)
		if !transient {
			name = strings.TrimSuffix(strings.TrimPrefix(e.Key, locksFolder), ".json")
			if lockKey(name) != e.Key || onto.CheckLeaseName(name) != nil {
				continue
			}
		}
		err := s.log.readAtMost(ctx, e.Key, MaxSmall, func(body []byte) error {
			k := new(lock)
			if err := Decode(e.Key, body, k); err != nil {
				return err
			}
			if k.Epoch > 0 && inRange(k.Epoch) {
				locks[name] = max(locks[name], k.Epoch)
			}
			return nil
		})
		if err != nil && onto.CodeOf(err) != onto.Corrupt {
			return nil, err
		}
	}
	if len(locks) == 0 {
		return nil, nil
	}
	return locks, nil
}

// Recover writes the head of a plan, if what it replaces is still there, and returns the tip.
func (l *Log) Recover(ctx context.Context, r *Recovery) (*Tip, error) {
	if r.Undecided {
		what := "nothing tells which of these rounds was the last"
		if len(r.Last) == 1 {
			what = "the head may be right: nothing tells whether the round after it was published"
		}
		return nil, onto.Errorf(onto.Refused, "%s", what).WithHint("name its attempt")
	}
	if err := l.checkClock(); err != nil {
		return nil, err
	}
	body := encodeSealed(r.head)
	var err error
	if r.tag == "" {
		_, err = l.b.Create(ctx, HeadKey, body)
	} else {
		_, err = l.b.Swap(ctx, HeadKey, body, r.tag)
	}
	if err != nil && (errors.Is(err, bucket.ErrChanged) || errors.Is(err, bucket.ErrExists) || errors.Is(err, bucket.ErrNotFound)) {
		if o, again := l.b.Get(ctx, HeadKey, bucket.Range{Max: MaxSmall}, ""); again != nil || HashOf(o.Data) != HashOf(body) {
			return nil, onto.Errorf(onto.Conflict, "the head was written meanwhile: %w", err).WithHint("look at it again")
		}
		err = nil // it is this one: the answer to the first try was lost
	}
	if err != nil {
		return nil, onto.Errorf(onto.OutcomeUnknown, "it is not known whether the head was written: %w", err).WithHint("look at it again")
	}
	return l.Load(ctx)
}
