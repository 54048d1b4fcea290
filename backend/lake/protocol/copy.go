package protocol

import (
	"fmt"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/refusal"
)

// CopyEntry is what the head of a lake tells about the copy that filled it. Later heads
// keep it, and manifests have it for a head that is lost. While the copy is unfinished the
// head has a format that programs from before copies refuse, so that none takes half a log
// for a whole one.
type CopyEntry struct {
	Origin     string `json:"origin"`
	Flags      string `json:"flags,omitempty"`
	Commit     int64  `json:"commit_id"`
	Sum        string `json:"sum,omitempty"`
	Unfinished bool   `json:"unfinished,omitempty"`
}

// State is what a lake is a copy of; the zero value for a lake that is no copy.
func (e *CopyEntry) State() backend.CopyState {
	if e == nil {
		return backend.CopyState{}
	}
	return backend.CopyState{Origin: e.Origin, Flags: e.Flags, Commit: e.Commit, Sum: e.Sum, Unfinished: e.Unfinished}
}

// unfinished reports whether a copy has begun to fill the lake and has not ended.
func (h *Head) unfinished() bool { return h.Copy != nil && h.Copy.Unfinished }

// ProposeCopy is [Publisher.Propose] for a head that tells what the lake is a copy of.
func (l *Publisher) ProposeCopy(t *Tip, r *Round, c *Catalog, attempt string, s backend.CopyState) *Proposal {
	head, tip := *t.Head, *t
	tip.Head = &head
	if head.Copy = nil; s != (backend.CopyState{}) {
		head.Copy = &CopyEntry{Origin: s.Origin, Flags: s.Flags, Commit: s.Commit, Sum: s.Sum, Unfinished: s.Unfinished}
	}
	p := l.Propose(&tip, r, c, attempt)
	p.next.Head.Format = p.next.Head.formatOf(p.next.Catalog)
	return p
}

// formatOf is the format that a head with a catalog has.
func (h *Head) formatOf(c *Catalog) int {
	if h.unfinished() {
		return max(formatCopying, c.format())
	}
	return c.format()
}

// Opened fails with CopyUnfinished for the head of a lake that a copy has not filled, but
// for the copy itself.
func (l *Log) Opened(h *Head) error {
	if !h.unfinished() || l.set.Target {
		return nil
	}
	state := h.Copy.State()
	return refusal.CopyUnfinished(HeadKey, &state)
}

// opened is a tip, if its lake may be used.
func (l *Log) opened(t *Tip) (*Tip, error) {
	if err := l.Opened(t.Head); err != nil {
		return nil, err
	}
	return t, nil
}

// checkCopy tells what no valid head can say about a copy; nil for nothing.
func (h *Head) checkCopy() error {
	if h.unfinished() && h.Format < formatCopying || !h.unfinished() && h.Format == formatCopying {
		return fmt.Errorf("the format %d and its copy do not go together", h.Format)
	}
	return h.Copy.check()
}

// check tells what nothing can say about a copy; nil for nothing.
func (e *CopyEntry) check() error {
	if e != nil && !inRange(e.Commit) {
		return fmt.Errorf("it cannot be a copy up to commit %d", e.Commit)
	}
	return nil
}
