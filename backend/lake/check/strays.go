package check

import (
	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/audit"
)

// newestRound checks the newest round alone.
func (c *checker) newestRound() error {
	if c.head.ManifestPath == nil {
		return nil
	}
	w := &walk{checker: c, ahead: map[string][]byte{}}
	_, err := w.open(&link{*c.head.ManifestPath, c.head.CommitID})
	return err
}

// unseen finds objects of rounds that the check has not reached. Missing objects may
// have led there, so they should be kept.
func (c *checker) unseen() error {
	if c.seen == nil || !c.broken {
		return nil
	}
	n, bytes, first := 0, int64(0), ""
	err := c.eachListed("commits/", func(e bucket.Entry) {
		if c.seen[protocol.AttemptOf(e.Key)] {
			return
		}
		if n == 0 {
			first = e.Key
		}
		n++
		bytes += e.Size
	})
	if err != nil || n == 0 {
		return err
	}
	f := audit.ObjectsOrphaned.Finding("nothing that can be read leads to %d objects of %d bytes, the first of which is %s", n, bytes, first)
	f.Remedy = onto.NewHint("keep them until the other findings are mended, then see what is left", "janitor")
	f.Explanation = "Attempts that lost or were killed may have left these objects behind. What is missing may also have led to them, so they are not to be removed yet."
	return c.push(f)
}

// eachListed calls a function with every object below a prefix.
func (c *checker) eachListed(prefix string, do func(e bucket.Entry)) error {
	if err := c.lake.Usable(c.ctx); err != nil {
		return err
	}
	for e, err := range c.lake.Log.Each(c.ctx, prefix) {
		if err == nil {
			err = c.lake.Usable(c.ctx)
		}
		if err != nil {
			return err
		}
		do(e)
	}
	return nil
}
