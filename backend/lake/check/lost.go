package check

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/audit"
)

// Where the head or the newest manifest is lost, the objects themselves tell what there
// was: a round is written on top of a published one. So a round that another one names
// as its predecessor was published; one that none names was published or is an orphan.

// readHead reads the head. It is nil if there is none that can be used, which was
// reported together with what can still be told.
func (c *checker) readHead() (*protocol.Head, error) {
	if c.lake.Log.Last() != nil {
		h, _, _, err := c.lake.Log.ReadHead(c.ctx)
		if code := onto.CodeOf(err); code == onto.Corrupt || code == onto.Uninitialized {
			return nil, c.headFlaw(err)
		}
		return h, err
	}
	body, err := c.readAtMost(protocol.HeadKey, protocol.MaxSmall, func(body []byte) bool { _, bad := protocol.ParseHead(body); return bad == nil })
	if err != nil {
		return nil, err
	}
	if body == nil {
		return nil, c.headFlaw(nil)
	}
	h, err := protocol.ParseHead(body)
	if onto.CodeOf(err) == onto.Corrupt {
		return nil, c.headFlaw(err)
	}
	if err == nil {
		err = c.lake.Log.Opened(h)
	}
	return h, err
}

// headFlaw reports a head that is gone, damaged, or older than one that was seen.
func (c *checker) headFlaw(err error) error {
	body, again := c.readAtMost(protocol.HeadKey, protocol.MaxSmall, nil)
	if again != nil {
		return again
	}
	code, what := audit.ObjectMissing, "it is missing"
	if body != nil {
		_, bad := protocol.ParseHead(body)
		switch {
		case bad == nil && err == nil:
			return nil // it was restored meanwhile
		case bad == nil:
			f := audit.HeadRewound.Finding("%s: %s", protocol.HeadKey, firstLine(err))
			f.Remedy = onto.NewHint("end the programs that write, then see which head the other objects prove", "recover")
			return c.push(f)
		}
		code, what = audit.ObjectDamaged, c.why(protocol.HeadKey, firstLine(protocol.WithoutKey(bad)))
	}
	t, err := c.traces()
	switch {
	case err != nil:
		return err
	case body == nil && len(t.manifests) == 0 && c.lake.Log.Last() == nil:
		return protocol.NoLake()
	}
	f := code.Finding("%s: %s; %s", protocol.HeadKey, what, t)
	f.Remedy = onto.NewHint("end the programs that write, then make the head again from what it led to; that is shown first", "recover")
	err = c.push(f)
	c.head = &protocol.Head{StoreID: t.store, CommitID: t.last}
	if t.path != "" {
		c.head.ManifestPath = &t.path
	}
	return err
}

// traces is what the objects tell about a log without a head.
type traces struct {
	manifests []protocol.RoundEntry // all that there are, newest first; of each the path, the attempt and the last commit
	store     string

	path string // of the newest round that was published for certain; "" if there is none
	last int64  // its last commit
}

// String tells which commits there are.
func (t *traces) String() string {
	after := 0
	for _, e := range t.manifests {
		if e.Last > t.last {
			after++
		}
	}
	text := "no commit was published for certain"
	if t.last > 0 {
		text = fmt.Sprintf("%s published for certain", were(1, t.last))
	}
	switch after {
	case 0:
		return text
	case 1:
		return text + fmt.Sprintf(", and commit %d may have been: %s", t.manifests[0].Last, t.manifests[0].Path)
	}
	return text + fmt.Sprintf(", and of later ones there are %d manifests, any of which may have lost, the newest of which is %s", after, t.manifests[0].Path)
}

// were is commits as the subject of a sentence in the passive.
func were(first, last int64) string {
	if first == last {
		return fmt.Sprintf("commit %d was", first)
	}
	return fmt.Sprintf("commits %d to %d were", first, last)
}

// traces finds out what was published without the head.
func (c *checker) traces() (*traces, error) {
	list, err := c.manifests()
	if err != nil {
		return nil, err
	}
	t := &traces{manifests: list}
	for _, e := range list {
		if e.Last <= t.last {
			break // it follows a round that is older
		}
		body, err := c.read(e.Path, func(body []byte) bool { _, bad := protocol.ParseManifest(e.Path, body); return bad == nil })
		if err != nil {
			return nil, err
		}
		m, bad := protocol.ParseManifest(e.Path, body)
		if bad != nil {
			continue // it is checked again if anything leads there
		}
		t.store = m.StoreID
		if m.ParentPath != nil && m.First-1 > t.last {
			t.path, t.last = *m.ParentPath, m.First-1
		}
	}
	return t, nil
}

// manifests lists all manifests, newest first.
func (c *checker) manifests() ([]protocol.RoundEntry, error) {
	if c.listed != nil {
		return c.listed, nil
	}
	c.listed = []protocol.RoundEntry{}
	err := c.eachListed("commits/", func(e bucket.Entry) {
		folder, ok := strings.CutSuffix(e.Key, "/manifest.json")
		number, attempt, dash := strings.Cut(strings.TrimPrefix(folder, "commits/"), "-")
		if id, err := strconv.ParseInt(number, 10, 64); ok && dash && err == nil {
			c.listed = append(c.listed, protocol.RoundEntry{Last: id, Path: e.Key, Attempt: attempt})
		}
	})
	slices.SortStableFunc(c.listed, func(a, b protocol.RoundEntry) int { return cmp.Compare(b.Last, a.Last) })
	return c.listed, err
}

// published lists rounds before a commit that the head knows to be published, by
// their attempts. Their first commits are not known.
func (c *checker) published(before int64) ([]protocol.RoundEntry, error) {
	list, err := c.manifests()
	return slices.DeleteFunc(slices.Clone(list), func(e protocol.RoundEntry) bool {
		return e.Last >= before || !slices.Contains(c.head.Recent, e.Attempt)
	}), err
}

// otherCatalog tells which catalog was there before the one that is lost.
func (c *checker) otherCatalog() (string, error) {
	newest, sequence := "", int64(0)
	err := c.eachListed("meta/catalog/", func(e bucket.Entry) {
		number, _, _ := strings.Cut(strings.TrimPrefix(e.Key, "meta/catalog/"), "-")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil && n > sequence && e.Key != c.head.Catalog && slices.Contains(c.head.Recent, protocol.AttemptOf(e.Key)) {
			newest, sequence = e.Key, n
		}
	})
	if newest == "" || err != nil {
		return "", err
	}
	return fmt.Sprintf("; the one before it is %s", newest), nil
}
