package foldkeep

import (
	"context"
	"fmt"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store/internal/fold"
)

// Verify replays the facts of every subject of folds and compares what comes out with
// their states. Folds that are behind catch up first. If names are given, each must be a
// fold that this program can carry out; otherwise others are left out.
func (k *Keeper) Verify(ctx context.Context, names []string) error {
	list, err := k.Named(ctx, names)
	if err != nil {
		return err
	}
	for _, s := range list {
		if s.Unable != "" && len(names) == 0 {
			continue
		}
		if s.Unable != "" {
			return onto.Errorf(onto.UnsupportedOperation, "fold %s cannot be verified here: %s", s.Name, s.Unable).WithHint("verify it in a program that has it")
		}
		if err := k.verify(ctx, s.Facts, s.Name); err != nil {
			return err
		}
	}
	return nil
}

// verify compares the states of one fold, as of one commit.
func (k *Keeper) verify(ctx context.Context, facts, name string) error {
	var m moment
	for {
		if err := k.CatchUp(ctx, facts, name, nil); err != nil {
			return err
		}
		var err error
		if m, err = k.moment(ctx, facts); err != nil {
			return err
		}
		if c := m.of(name); c == nil || c.f == nil {
			return onto.Errorf(onto.Stale, "fold %s has changed while it was verified", name).WithHint("try again")
		} else if !c.due() {
			break
		}
	}
	f, found := m.of(name).f, findings{}
	for after := ""; ; {
		subjects, more, err := k.subjectsAfter(ctx, f, m.head, after, batch)
		if err != nil {
			return err
		}
		list, err := k.replay(ctx, m.types, f, m.head, subjects)
		if err != nil {
			return err
		}
		for i := range list {
			found.compare(f, subjects[i], &list[i])
		}
		if !more {
			return found.error(f, m.head)
		}
		after = subjects[len(subjects)-1]
	}
}

// findings counts differences, and describes the first ones.
type findings struct {
	subjects, differ int64
	first            []string
}

const mostFindings = 5

func (d *findings) compare(f *fold.Fold, subject string, r *replayed) {
	d.subjects++
	if r.same() {
		return
	}
	if d.differ++; len(d.first) == mostFindings {
		return
	}
	is, want := "nothing", "nothing"
	if r.is != nil {
		is = shorten(r.is.Fields)
	}
	if r.want != nil {
		want = shorten(r.want.Fields)
	}
	d.first = append(d.first, fmt.Sprintf("%s is %s, a replay makes %s", onto.EntityID(f.State, subject), is, want))
}

func shorten(fields []byte) string {
	const most = 300
	if len(fields) <= most {
		return string(fields)
	}
	return strings.ToValidUTF8(string(fields[:most]), "") + "…"
}

func (d *findings) error(f *fold.Fold, head int64) error {
	if d.differ == 0 {
		return nil
	}
	return onto.Errorf(onto.Corrupt, "fold %s version %d: %d of %d states differ from a replay as of commit %d: %s",
		f.Name, f.Version, d.differ, d.subjects, head, strings.Join(d.first, "; ")).
		WithHint("a fold that depends on more than state, fact and draft is not pure; if it was changed, raise its version; then rebuild it").
		WithCommand("fold", "rebuild", f.Name)
}

// RebuildFold refolds every subject of a fold, from the beginning. Progress, if not nil,
// is told how many subjects are done.
func (k *Keeper) RebuildFold(ctx context.Context, name string, progress func(done int64)) error {
	list, err := k.Named(ctx, []string{name})
	if err != nil {
		return err
	}
	s := list[0]
	for {
		m, err := k.moment(ctx, s.Facts)
		if err != nil {
			return err
		}
		c := m.of(name)
		if c == nil || c.f == nil {
			why := "it has ended"
			if c != nil {
				why = c.why
			}
			return onto.Errorf(onto.UnsupportedOperation, "fold %s cannot be rebuilt here: %s", name, why).WithHint("rebuild it in a program that has it")
		}
		next := c.Record
		next.Rebuild = &fold.Rebuilding{}
		err = k.commit(ctx, k.draft("fold "+name+" is to be rebuilt"), s.Facts, c, &next)
		if err == nil {
			break
		}
		if onto.CodeOf(err) != onto.Stale {
			return err
		}
	}
	return k.CatchUp(ctx, s.Facts, name, progress)
}

// Replay folds entries, for a state of the past.
func (k *Keeper) Replay(ctx context.Context, f *fold.Fold, in *fold.Input) (onto.Version, error) {
	fold.Sort(in.Entries)
	w, err := f.Run(ctx, k.Timeout, in)
	return onto.Version{Identity: w.Identity, Op: w.Op, Fields: w.Fields, SchemaVersion: w.SchemaVersion}, err
}
