package check

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/audit"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/exec"
	"github.com/ontologia/onto/internal/volume"
)

const (
	manyFiles    = 100                           // of one type; reads take longer with more
	behindRounds = 2 * protocol.CheckpointRounds // that no checkpoint lists
	clockAhead   = time.Hour                     // that a head may be later than now
)

// Circumstances is what a survey examines.
type Circumstances struct {
	*Lake
	Leases  *protocol.Leases
	Now     func() time.Time
	Orphans func(context.Context) (*backend.OrphanPlan, error)
	Derived func(context.Context) ([]onto.Finding, error) // what is wrong with objects that are derived for other programs
}

// Survey examines the circumstances of a lake: orphans, many files, room, checkpoints,
// leases and the clock. It writes nothing and reads no data file.
func Survey(ctx context.Context, c *Circumstances) iter.Seq2[onto.Finding, error] {
	return exec.Pushed(func(push func(onto.Finding) error) error {
		s := &surveyor{ctx: ctx, lake: c, push: push}
		for _, look := range []struct {
			name string
			at   func() error
		}{
			{"the clock", s.clock}, {"leases", s.leases}, {"checkpoints", s.checkpoints}, {"the number of files", s.files}, {"free space", s.room}, {"what was left behind", s.orphans},
			{"what is derived for others", s.derived},
		} {
			if err := c.Usable(ctx); err != nil {
				return err
			}
			if err := s.take(look.name, look.at()); err != nil {
				return err
			}
		}
		return nil
	})
}

// surveyor is a survey under way.
type surveyor struct {
	ctx  context.Context
	lake *Circumstances
	push func(onto.Finding) error
}

func (s *surveyor) warn(code audit.Notice, format string, args ...any) error {
	return s.push(code.Finding(format, args...))
}

// take turns damage that stopped a part of the survey into a finding.
func (s *surveyor) take(name string, err error) error {
	if onto.CodeOf(err) != onto.Corrupt {
		return err
	}
	f := audit.CheckStopped.Finding("%s could not be looked at: %s", name, firstLine(err))
	f.Remedy = onto.HintOf(err)
	return s.push(f)
}

// clock finds a head that is later than now.
func (s *surveyor) clock() error {
	t, err := s.lake.Log.Refresh(s.ctx)
	if err != nil {
		return err
	}
	what, newest := protocol.HeadKey, t.Head.UpdatedAt
	if m := t.Manifest; m != nil && m.Entry().Time > newest {
		what, newest = fmt.Sprintf("commit %d", m.CommitID), m.Entry().Time
	}
	at, err := codec.ParseTime(newest)
	if err != nil {
		return protocol.Damaged(protocol.HeadKey, "updated_at: %w", err)
	}
	if f, ahead := audit.Clock(what, at, s.lake.Now(), clockAhead); ahead {
		return s.push(f)
	}
	return nil
}

// leases finds leases that block other writers, or that were not released.
func (s *surveyor) leases() error {
	list, err := s.lake.Leases.List(s.ctx)
	if err != nil {
		return err
	}
	for _, l := range list {
		if f, found := audit.Lease(l, s.lake.Now()); found {
			if err := s.push(f); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkpoints finds many rounds that no checkpoint lists.
func (s *surveyor) checkpoints() error {
	t, err := s.lake.Log.Refresh(s.ctx)
	if err != nil || t.Manifest == nil {
		return err
	}
	behind := t.Manifest.Round
	for _, e := range t.Catalog.Checkpoints {
		n := int64(protocol.CheckpointRounds)
		for range e.Level {
			n *= protocol.CheckpointBranches
		}
		behind -= n
	}
	if behind <= behindRounds {
		return nil
	}
	return s.warn(audit.CheckpointsBehind, "no checkpoint lists the newest %d rounds", behind)
}

// files finds types with many files.
func (s *surveyor) files() error {
	shelf, err := s.lake.Newest(s.ctx)
	if err != nil {
		return err
	}
	for _, t := range shelf.Names() {
		n := len(shelf.Of(t, 0, shelf.Tip.Head.CommitID))
		if n <= manyFiles {
			continue
		}
		if err := s.warn(audit.FilesMany, "%s %s has %d files", t.Kind, t.Name, n); err != nil {
			return err
		}
	}
	return nil
}

// room finds a volume that is almost full, where the bucket knows.
func (s *surveyor) room() error {
	v, knows := s.lake.Bucket.(bucket.Volume)
	if !knows {
		return nil
	}
	shelf, err := s.lake.Newest(s.ctx)
	if err != nil {
		return err
	}
	var size int64
	for _, files := range shelf.Files {
		for _, f := range files {
			size += f.Bytes
		}
	}
	free, known := v.Free()
	if f, low := volume.Low(free, size); known && low {
		return s.push(f)
	}
	return nil
}

// orphans finds objects that attempts have left behind.
func (s *surveyor) orphans() error {
	plan, err := s.lake.Orphans(s.ctx)
	if err != nil {
		return err
	}
	if n := len(plan.Foreign); n > 0 {
		first := plan.Foreign[0]
		err = s.warn(audit.ObjectsUnknown,
			"below the folders of the lake there are %d objects that it has not written, the first of which is %s: %s", n, first.Key, first.Reason)
	}
	if err != nil || len(plan.Orphans) == 0 {
		return err
	}
	return s.warn(audit.ObjectsOrphaned, "no head leads to %d objects of %d bytes, the first of which is %s", len(plan.Orphans), plan.Bytes, plan.Orphans[0].Key)
}

// derived compares the objects that are derived for other programs with what the
// head leads to.
func (s *surveyor) derived() error {
	found, err := s.lake.Derived(s.ctx)
	for _, f := range found {
		if err == nil {
			err = s.push(f)
		}
	}
	return err
}
