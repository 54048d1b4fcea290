package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/backup"
	"github.com/ontologia/onto/backend/sqlite/internal/disk"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/lease"
)

// StoreMoment is a store and its head.
type StoreMoment struct {
	StoreID string
	Origin  string      // the id of the store that it is a copy of; its own if it is none
	Head    onto.Commit // its ID is 0 if the store is empty
}

// RestorePlan is what a restore would do.
type RestorePlan struct {
	Backup  StoreMoment
	Present *StoreMoment // what the backup would replace; nil if there is no store yet
	Shared  int64        // the last commit that both have
	Lost    int64        // how many commits only the present store has
}

// Related reports whether the backup and the present store are of one store, or copies of one
// another or of the same store.
func (p *RestorePlan) Related() bool {
	if p.Present == nil {
		return false
	}
	of := []string{p.Present.StoreID, p.Present.Origin}
	return slices.Contains(of, p.Backup.StoreID) || slices.Contains(of, p.Backup.Origin)
}

// RestoreOptions change how a backup is restored. The zero value is the default.
type RestoreOptions struct {
	Owner       string           // of the write lease meanwhile; "" for "restore"
	LockTimeout time.Duration    // how long to wait for others; 0 for DefaultLockTimeout
	LeaseTTL    time.Duration    // how long the lease lasts unless it is renewed; 0 for DefaultRestoreTTL
	Now         func() time.Time // the clock; nil for time.Now
	Progress    func(done, total int64)

	Actor   onto.Actor // on whose behalf
	Comment string     // why
}

// Restored is what a restore has done. After an error with the code
// [onto.OutcomeUnknown] it is what the restore may have done.
type Restored struct {
	RestorePlan
	Kept string // a copy of what was there before; "" if nothing was
}

// DefaultRestoreTTL is how long the write lease of a restore lasts unless it is
// renewed. A restore that is killed blocks other writers until then.
const DefaultRestoreTTL = 30 * time.Second

// PlanRestore tells what restoring the backup in file from as the store in file
// to would do, and changes nothing.
func PlanRestore(ctx context.Context, from, to string) (RestorePlan, error) {
	source, err := Open(ctx, from, &Options{ReadOnly: true})
	switch code := onto.CodeOf(err); {
	case code == onto.Unsupported && len(onto.HintOf(err).Command) > 0: // it can be copied
		return RestorePlan{}, onto.Errorf(code, "no backup to restore: %w", err)
	case code == onto.Uninitialized || code == onto.Unsupported:
		return RestorePlan{}, onto.Errorf(code, "no backup to restore: %w", err).WithHint("name the file of a backup")
	}
	if err != nil {
		return RestorePlan{}, err
	}
	defer source.Close()
	if err := differentFiles(from, to); err != nil {
		return RestorePlan{}, err
	}
	var plan RestorePlan
	err = source.reader.read(ctx, func(r *reading) (err error) {
		if plan.Backup, err = momentOf(r.Conn); err != nil {
			return err
		}
		if _, err := os.Stat(to); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return plan.compare(ctx, r, to)
	})
	return plan, err
}

// openToRead opens a store as it is, read-only where it cannot be written. Unlike a connection
// that only reads, others leave nothing beside the file when they are closed.
func openToRead(ctx context.Context, path string) (*Backend, error) {
	b, err := Open(ctx, path, &Options{MustExist: true, asItIs: true})
	switch onto.CodeOf(err) {
	case onto.ReadOnly, onto.Full, onto.Corrupt:
		return Open(ctx, path, &Options{ReadOnly: true})
	}
	return b, err
}

func differentFiles(from, to string) error {
	a, errA := os.Stat(from)
	b, errB := os.Stat(to)
	if errA == nil && errB == nil && os.SameFile(a, b) {
		return onto.Errorf(onto.Invalid, "%s is the store itself", from).WithHint("name a backup of it")
	}
	return nil
}

func momentOf(c *driver.Conn) (StoreMoment, error) {
	row, ok, err := c.QueryRow(`SELECT store_id FROM onto_meta`)
	if err != nil || !ok {
		return StoreMoment{}, err
	}
	copied, err := layout.ReadCopy(c)
	if err != nil {
		return StoreMoment{}, err
	}
	head, err := layout.NewestCommit(c)
	return StoreMoment{row.Text(0), cmp.Or(copied.Origin, row.Text(0)), head}, err
}

// compare reads the present store.
func (p *RestorePlan) compare(ctx context.Context, source *reading, to string) error {
	present, err := openToRead(ctx, to)
	if err != nil {
		return damagedTarget(to, err)
	}
	defer present.Close()
	return present.reader.read(ctx, func(r *reading) error {
		m, err := momentOf(r.Conn)
		if err != nil {
			return err
		}
		p.Present = &m
		if p.Related() {
			p.Shared, err = backup.Shared(source.Conn, r.Conn, min(m.Head.ID, p.Backup.Head.ID))
		}
		p.Lost = m.Head.ID - p.Shared
		return err
	})
}

// damagedTarget tells what to do if what is there cannot even be read.
func damagedTarget(to string, err error) error {
	if code := onto.CodeOf(err); code != onto.Corrupt && code != onto.Unsupported {
		return err
	}
	return onto.Errorf(onto.CodeOf(err), "what is there cannot be kept: %w", err).
		WithHint("move %s away, and %[1]s-wal and %[1]s-shm with it, then restore again", to)
}

// Restore puts the backup in file from in the place of the store in file to. If there
// is no store yet, the backup is copied there. Otherwise what is there is copied first,
// to a file beside it, and then replaced in one transaction, under the write lease:
// programs that have the store open continue with the restored one. Afterwards no lease
// is held, and earlier leases are void. After an error nothing is replaced and no copy
// is left, unless the outcome of the transaction is unknown: then the copy stays.
func Restore(ctx context.Context, from, to string, opts *RestoreOptions) (Restored, error) {
	plan, err := PlanRestore(ctx, from, to)
	if err != nil {
		return Restored{}, err
	}
	r := &restore{from: from, to: to, plan: plan}
	if opts != nil {
		r.opts = *opts
	}
	r.opts.Owner = cmp.Or(r.opts.Owner, "restore")
	if r.opts.LeaseTTL <= 0 {
		r.opts.LeaseTTL = DefaultRestoreTTL
	}
	var kept string
	if plan.Present == nil {
		err = r.create(ctx)
	} else {
		kept, err = r.replace(ctx)
	}
	switch {
	case err == nil || kept != "":
		return Restored{r.plan, kept}, err
	case onto.CodeOf(err) == onto.OutcomeUnknown: // of a lease or an upgrade
		err = onto.Errorf(onto.Unavailable, "nothing was replaced: %w", err).WithHint("check the disk and restore again")
	}
	return Restored{}, err
}

// restore is a restore under way.
type restore struct {
	from, to string
	opts     RestoreOptions
	plan     RestorePlan

	b        *Backend    // the store that is replaced
	held     *lease.Held // excludes other writers; nil when it need not be renewed
	kept     string      // the copy of what was there
	replaced bool
}

// create copies the backup to a place without a store.
func (r *restore) create(ctx context.Context) error {
	source, err := Open(ctx, r.from, &Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer source.Close()
	if _, err = source.reader.copyTo(ctx, r.to, r.told); err != nil {
		return err
	}
	b, err := Open(ctx, r.to, &Options{MustExist: true, LockTimeout: r.opts.LockTimeout, Now: r.opts.Now})
	if err != nil {
		return err
	}
	err = b.writer.changeLeases(ctx, b.deadline(), func(w *driver.Conn) error {
		if err := w.Exec(`UPDATE onto_meta SET derived = derived + 1`); err != nil {
			return err
		}
		return layout.NoteRestore(w, []backend.Restore{r.record(b.now(), "")})
	})
	return errors.Join(err, b.Close())
}

// record is what the store keeps about the restore.
func (r *restore) record(now time.Time, kept string) backend.Restore {
	rec := backend.Restore{Lineage: layout.NewID(), Time: now, Actor: r.opts.Actor, Comment: r.opts.Comment, Head: r.plan.Backup.Head.ID, Lost: r.plan.Lost, Kept: kept}
	if r.plan.Present != nil {
		rec.Before = r.plan.Present.Head.ID
	}
	return rec
}

// told passes on the progress of a copy. Under the lease it renews the lease.
func (r *restore) told(done, total int64) error {
	if r.opts.Progress != nil {
		r.opts.Progress(done, total)
	}
	if r.held == nil || !r.held.Due() {
		return nil
	}
	return r.held.Renew(context.Background())
}

// replace copies the present store and replaces it by the backup. It names the copy as
// long as that exists.
func (r *restore) replace(ctx context.Context) (kept string, err error) {
	b, err := Open(ctx, r.to, &Options{MustExist: true, LockTimeout: r.opts.LockTimeout, Now: r.opts.Now})
	if err != nil {
		return "", err
	}
	defer b.Close() // the outcome is known by then, or stays unknown
	held, err := lease.Take(ctx, b, &backend.LeaseRequest{Name: onto.WriteLease, Owner: r.opts.Owner, TTL: r.opts.LeaseTTL, Wait: b.opts.LockTimeout})
	if err != nil {
		return "", err
	}
	r.b, r.held = b, held
	defer func() {
		if err != nil { // otherwise it was replaced with the rest of the store
			_ = held.Release(context.WithoutCancel(ctx))
		}
	}()
	st, err := r.prepare(ctx)
	if err != nil {
		return "", err
	}
	defer st.Discard()
	kept, err = r.keep(ctx)
	if err != nil {
		return "", err
	}
	r.kept = kept
	err = backup.With(st, func(src *driver.Conn) error { return r.overwrite(ctx, src) })
	switch {
	case r.replaced: // later failures concern only what is discarded
		return kept, nil
	case onto.CodeOf(err) == onto.OutcomeUnknown:
		return kept, onto.Errorf(onto.OutcomeUnknown, "what was there is kept in %s: %w", kept, err).
			WithHint("check the disk, then look at the store, or go back").WithCommand("restore", kept, "--apply")
	}
	_ = os.Remove(kept) // the present store has all of it
	return "", driver.Wrap(r.to, err)
}

// keep copies the present store to a file beside it.
func (r *restore) keep(ctx context.Context) (string, error) {
	head, err := r.b.Resolve(ctx, onto.Point{})
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("%s.before-restore-%d", r.to, head.ID)
	path := name
	for n := 2; ; n++ {
		if _, err := os.Lstat(path); err != nil {
			break
		}
		path = fmt.Sprintf("%s-%d", name, n)
	}
	r.plan.Present.Head, err = r.b.reader.copyTo(ctx, path, r.told)
	r.plan.Lost = r.plan.Present.Head.ID - r.plan.Shared
	return path, err
}

// prepare makes a copy of the backup that fits the present file: of our format
// and with pages of the same size. The backup itself stays as it is.
func (r *restore) prepare(ctx context.Context) (*disk.Staged, error) {
	source, err := Open(ctx, r.from, &Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer source.Close()
	st, err := disk.NewStaged(r.to)
	if err != nil {
		return nil, err
	}
	err = source.reader.read(ctx, func(c *reading) error {
		return backup.Fill(ctx, st, c.Conn, time.Now().Add(DefaultLockTimeout), r.told)
	})
	if err == nil {
		err = repairCopy(ctx, st.Path)
	}
	if err == nil {
		err = r.b.reader.read(ctx, func(c *reading) error {
			size, err := c.QueryInt(`PRAGMA page_size`)
			if err != nil {
				return err
			}
			return backup.With(st, func(c *driver.Conn) error { return backup.Resize(c, size) })
		})
	}
	if err != nil {
		st.Discard()
		return nil, err
	}
	return st, nil
}

// repairCopy brings back what a copy lacks, as opening any store does. It is written
// later, so it must not contain code of others.
func repairCopy(ctx context.Context, path string) error {
	b, err := Open(ctx, path, nil)
	if err != nil {
		return err
	}
	b.writer.writing.wait()
	s, err := layout.SoundShape(b.writer.conn, path)
	if err == nil {
		err = s.Writable("the backup")
	}
	b.writer.writing.release()
	return errors.Join(err, b.Close())
}

// overwrite replaces the contents of the present file in one transaction. Under its
// write lock nothing there changes any more: the lease is checked for the last time,
// and the epochs and counters of the copy are raised above those of the present store,
// so that other processes notice the change. What the source's own connection writes is
// included in a transfer under way.
func (r *restore) overwrite(ctx context.Context, src *driver.Conn) error {
	b, until := r.b, r.b.deadline()
	if err := b.writer.writing.acquire(ctx, until, b.at.Path); err != nil {
		return err
	}
	defer b.writer.writing.release()
	if err := b.writer.canWrite(ctx); err != nil {
		return err
	}
	t, err := backup.NewTransfer(b.writer.conn, src)
	if err != nil {
		return err
	}
	err = t.Lock(ctx, until)
	if err == nil {
		err = b.writer.reached("restore")
	}
	if err == nil {
		err = b.reader.read(ctx, func(now *reading) error { return r.outdo(now, src) })
	}
	if err != nil {
		t.Close()
		return err
	}
	r.held = nil // from here on the lock excludes other writers, and the lease cannot be renewed
	err = t.Run(ctx, until, r.told)
	r.replaced = t.Committed
	if t.Unsure(err) {
		b.writer.broken = err // the file has to be opened again, also to release the lease
		err = onto.Errorf(onto.OutcomeUnknown, "%s: it is not known whether the backup has taken its place: %w", b.at.Path, err)
	}
	return err
}

// outdo raises the counters by which other processes notice that what they know of the
// present store is stale. It fails if the present store has changed since the plan.
func (r *restore) outdo(now *reading, src *driver.Conn) error {
	held := r.held.Current()
	if err := checkLease(now.Conn, &held); err != nil {
		return err
	}
	if now.Head != r.plan.Present.Head.ID {
		return onto.Errorf(onto.HeadMismatch, "%s: commit %d was made meanwhile", r.to, now.Head).
			WithHint("look at it and restore again")
	}
	if err := backup.Outdo(&now.Moment, src); err != nil {
		return err
	}
	list, err := layout.Restores(&now.Moment)
	if err != nil {
		return err
	}
	return layout.NoteRestore(src, append(list, r.record(r.b.now(), r.kept)))
}
