package check

import (
	"errors"
	"reflect"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/audit"
	"github.com/ontologia/onto/internal/codec"
)

// root reads the head and the catalog that it names. It reports false if the check
// cannot continue.
func (c *checker) root() (bool, error) {
	c.files = map[onto.TypeName][]protocol.FileEntry{}
	for tries := 0; ; tries++ {
		h, err := c.readHead()
		if err != nil {
			return false, err
		}
		if h == nil { // which was reported
			c.broken = true
			return c.head != nil, nil
		}
		c.head = h
		body, err := c.read(h.Catalog, nil)
		if err != nil {
			return false, err
		}
		if body == nil && tries < secondLooks { // a head that is newer may have replaced it
			continue
		}
		return true, errors.Join(c.headMembers(), c.openCatalog(body))
	}
}

// headMembers checks the head for contradictions.
func (c *checker) headMembers() error {
	h := c.head
	if want := min(h.Sequence-1, protocol.RecentAttempts); int64(len(h.Recent)) != want || slices.Contains(h.Recent, h.Attempt) {
		return c.report(audit.ChainBroken, "%s: number %d of the heads names %d attempts before its own, not %d", protocol.HeadKey, h.Sequence, len(h.Recent), want)
	}
	return nil
}

// openCatalog takes the catalog as far as it can be read.
func (c *checker) openCatalog(body []byte) error {
	if body == nil {
		c.broken = true
		other, err := c.otherCatalog()
		if err != nil {
			return err
		}
		return c.report(audit.ObjectMissing, "%s: the head names it as the catalog, and it is missing%s", shown(c.head.Catalog), other)
	}
	k, err := protocol.ParseCatalog(c.head.Catalog, body)
	if err != nil {
		c.broken = true
		return c.flawed(c.head.Catalog, err)
	}
	c.catalog = k
	if k.StoreID != c.head.StoreID {
		return c.foreign(c.head.Catalog, k.StoreID)
	}
	if k.Attempt != protocol.AttemptOf(c.head.Catalog) {
		return c.report(audit.CatalogDiffers, "%s: it is that of attempt %s", c.head.Catalog, k.Attempt)
	}
	return nil
}

func (c *checker) foreign(key, store string) error {
	return c.report(audit.ObjectForeign, "%s: it belongs to store %s, not %s", key, store, c.head.StoreID)
}

// link is the next round of a walk: a manifest that should be there.
type link struct {
	path string
	last int64 // its last commit
}

// log walks the log from the newest round to the first.
func (c *checker) log() error {
	if c.head.ManifestPath == nil {
		return c.lists.rest(c)
	}
	w := &walk{checker: c, ahead: map[string][]byte{}, live: c.livePaths()}
	next := &link{*c.head.ManifestPath, c.head.CommitID}
	for next != nil {
		m, err := w.open(next)
		if err != nil {
			return err
		}
		if next, err = w.round(next, m); err != nil {
			return err
		}
	}
	if err := w.replaced(); err != nil {
		return err
	}
	for _, files := range c.files { // they were found newest first
		slices.Reverse(files)
	}
	return c.lists.rest(c)
}

// walk is a walk through the log.
type walk struct {
	*checker
	after *protocol.Manifest    // the round that was checked before; nil if it could not be read
	known []protocol.RoundEntry // rounds before it that manifests name, newest first
	ahead map[string][]byte     // manifests that were read ahead, by path
	live  map[string]bool       // paths of files that the catalog names
	old   []protocol.FileEntry  // that a compaction has replaced, still to be checked
	tried int64                 // the commit whose round was looked for at another path
}

// open reads a manifest. It is nil if it cannot be used, which was reported.
func (w *walk) open(at *link) (*protocol.Manifest, error) {
	body, ok := w.ahead[at.path]
	delete(w.ahead, at.path)
	if !ok {
		if err := w.readAhead(at); err != nil {
			return nil, err
		}
		body = w.ahead[at.path]
		delete(w.ahead, at.path)
	}
	if body == nil {
		return nil, w.lostRound(at)
	}
	m, err := protocol.ParseManifest(at.path, body)
	if err != nil {
		return nil, w.misfit(at, body, err)
	}
	switch {
	case m.StoreID != w.head.StoreID:
		return nil, w.foreign(at.path, m.StoreID)
	case m.CommitID != at.last:
		return nil, w.report(audit.ChainBroken, "%s: it ends with commit %d, where %d is due", at.path, m.CommitID, at.last)
	}
	return m, nil
}

// lostRound reports a manifest that is missing.
func (w *walk) lostRound(at *link) error {
	by := "a later round"
	if w.head.Catalog != "" && *w.head.ManifestPath == at.path {
		by = "the head"
	}
	return w.report(audit.ObjectMissing, "%s: %s names it, and it is missing: commit %d cannot be read, nor can those of the same round", shown(at.path), by, at.last)
}

// misfit reports a manifest that contradicts itself, or is none.
func (w *walk) misfit(at *link, body []byte, err error) error {
	m := new(protocol.Manifest)
	if protocol.SealBroken(body) || protocol.Decode(at.path, body, m) != nil {
		return w.flawed(at.path, err)
	}
	for i, e := range m.Commits {
		if e.ID != m.First+int64(i) {
			return w.report(audit.CommitGap, "%s: commit %d stands where %d is due", at.path, e.ID, m.First+int64(i))
		}
	}
	if n := int64(len(m.Commits)); n != m.CommitID-m.First+1 {
		return w.report(audit.CommitGap, "%s: it has %d commits from %d to %d", at.path, n, m.First, m.CommitID)
	}
	return w.report(audit.ChainBroken, "%s: %v", at.path, protocol.WithoutKey(err))
}

// readAhead reads a manifest and those that are named before it, side by side.
func (w *walk) readAhead(at *link) error {
	clear(w.ahead)
	paths := []string{at.path}
	for _, e := range w.known {
		if e.Path != at.path && e.Last < at.last {
			paths = append(paths, e.Path)
		}
	}
	paths = paths[:min(len(paths), protocol.AtOnce)]
	bodies := make([][]byte, len(paths))
	err := protocol.SideBySide(len(paths), func(i int) (err error) {
		bodies[i], err = w.read(paths[i], func(body []byte) bool {
			_, bad := protocol.ParseManifest(paths[i], body)
			return bad == nil
		})
		return err
	})
	for i, path := range paths {
		w.ahead[path] = bodies[i]
	}
	return err
}

// round checks one round and returns the link to the next; nil at the end of the log.
func (w *walk) round(at *link, m *protocol.Manifest) (*link, error) {
	if m == nil {
		return w.leap(at)
	}
	if err := errors.Join(w.follow(m), w.commits(m), w.own(m), w.lists.compare(w.checker, m)); err != nil {
		return nil, err
	}
	w.after, w.known = m, m.Ancestors
	w.note(at.path)
	for i := range m.Files { // those of a long commit have an attempt of their own
		w.note(m.Files[i].Path)
	}
	switch {
	case m.First == 1 && m.ParentPath == nil:
		return nil, w.first(m)
	case m.First == 1:
		return nil, w.report(audit.ChainBroken, "%s: it is the first round and names %s before it", at.path, *m.ParentPath)
	case m.ParentPath == nil:
		if err := w.report(audit.ChainBroken, "%s: it names no round before it", at.path); err != nil {
			return nil, err
		}
		return w.leap(&link{"", m.First - 1})
	}
	return &link{*m.ParentPath, m.First - 1}, nil
}

// note notes that the log leads to a round.
func (c *checker) note(path string) {
	if c.seen != nil && path != "" {
		c.seen[protocol.AttemptOf(path)] = true
	}
}

// leap continues after a round that cannot be used, with the next one that is known
// from elsewhere.
func (w *walk) leap(at *link) (*link, error) {
	w.broken, w.after = true, nil
	w.note(at.path)
	listed, err := w.lists.rounds(w.checker, at.last)
	if err == nil && len(w.known) == 0 {
		var more []protocol.RoundEntry
		more, err = w.published(at.last)
		listed = append(listed, more...)
	}
	if err != nil {
		return nil, err
	}
	var next link
	begin := at.last + 1 // of the round, if that is known
	for _, e := range slices.Concat(w.known, listed) {
		if (e.Last < at.last || e.Last == at.last && e.Path != at.path && w.tried != at.last) && e.Last > next.last {
			next = link{e.Path, e.Last}
		}
		if e.Last == at.last {
			begin = e.First
		}
	}
	if next.last == at.last { // there may be two paths for one round
		w.tried, begin = at.last, at.last+1
	}
	w.left.Hide(next.last+1, at.last)
	if next.last+1 != begin {
		err = w.report(audit.CheckStopped, "the log from commit %d to %d could not be checked: nothing that can be read leads there", next.last+1, begin-1)
	}
	if err != nil || next.last == 0 {
		return nil, err
	}
	return &next, nil
}

// follow compares a round with the one that comes after it.
func (w *walk) follow(m *protocol.Manifest) error {
	n := w.after
	if n == nil {
		return nil
	}
	path := n.Entry().Path
	want := append([]protocol.RoundEntry{m.Entry()}, m.Ancestors[:min(len(m.Ancestors), protocol.Ancestors-1)]...)
	var errs []error
	if !slices.Equal(n.Ancestors, want) {
		errs = append(errs, w.report(audit.ChainBroken, "%s: the rounds that it names before it are not those that %s follows", path, m.Entry().Path))
	}
	if n.Round != m.Round+1 {
		errs = append(errs, w.report(audit.ChainBroken, "%s: it is round %d, and the one before it is %d", path, n.Round, m.Round))
	}
	if !reflect.DeepEqual(n.LastTouched, protocol.Touch(m.LastTouched, n.Files, n.CommitID)) {
		errs = append(errs, w.report(audit.ChainBroken, "%s: what it says was last touched does not follow from the round before", path))
	}
	return errors.Join(append(errs, w.rules.At(path).Follows(audited(&m.Commits[len(m.Commits)-1]), audited(&n.Commits[0])))...)
}

// first checks what only the first round has.
func (w *walk) first(m *protocol.Manifest) error {
	if len(m.Ancestors) > 0 || m.Round != 1 {
		return w.report(audit.ChainBroken, "%s: it is the first round, says that it is round %d and names %d before it", m.Entry().Path, m.Round, len(m.Ancestors))
	}
	if !reflect.DeepEqual(m.LastTouched, protocol.Touch(nil, m.Files, m.CommitID)) {
		return w.report(audit.ChainBroken, "%s: what it says was last touched is not what it has files of", m.Entry().Path)
	}
	return nil
}

// audited is a commit as the rules want it.
func audited(e *protocol.CommitEntry) *audit.Commit {
	t, _ := codec.ParseTime(e.Time) // zero if it cannot be read
	return &audit.Commit{ID: e.ID, Time: t, Stored: e.Time, Metadata: e.Metadata, Key: e.Key}
}

// commits checks the commits of a round.
func (w *walk) commits(m *protocol.Manifest) error {
	path := m.Entry().Path
	rules := w.rules.At(path)
	var errs []error
	var before *audit.Commit // the one before the first is in another round
	for i := range m.Commits {
		c := audited(&m.Commits[i])
		if before != nil {
			errs = append(errs, rules.Follows(before, c))
		}
		errs = append(errs, rules.Commit(c), w.count(path, &m.Commits[i]))
		before = c
	}
	return errors.Join(errs...)
}

// count notes how many versions a commit should have.
func (w *walk) count(path string, e *protocol.CommitEntry) error {
	all, n := 0, 0
	for _, t := range e.Touched {
		all += t.Operations
		if t.Version > w.purged[t.TypeName()] {
			n += t.Operations
		}
	}
	if all != e.Operations || all == 0 && !w.copied(e.ID) {
		w.left.Hide(e.ID, e.ID)
		return w.report(audit.CommitIncomplete, "%s: commit %d says %d operations, and %d by type", path, e.ID, e.Operations, all)
	}
	w.left.Add(e.ID, n)
	return nil
}
