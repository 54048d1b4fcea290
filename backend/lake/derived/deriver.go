package derived

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/backoff"
)

// Derived objects may lag or be missing. A writer makes each one from a shelf, so that
// writing is repairing.

// TouchedBy is the types that the publication of a tip has touched, for
// [Deriver.Derive]. Types whose files a compaction has replaced are not among them.
func TouchedBy(t *protocol.Tip) (touched []onto.TypeName, schemaChanged bool) {
	if m := t.Manifest; m != nil && m.Attempt == t.Head.Attempt {
		for i := range m.Files {
			touched = append(touched, m.Files[i].TypeName())
		}
	}
	return touched, t.Catalog.Attempt == t.Head.Attempt
}

const (
	// deriveGrowth is the share of an index that must be new for it to be written again
	// within a burst: thousands of rounds then cost dozens of writes.
	deriveGrowth = 16
	// deriveQuiet is the pause without requests that ends a burst.
	deriveQuiet = 200 * time.Millisecond
)

// Deriver writes derived objects. One call at a time does so, from the newest known
// shelf. In a burst of rounds it waits until there is enough to write, or the burst is
// over; the first round does not wait.
type Deriver struct {
	origin *protocol.Publisher
	bucket bucket.Bucket

	asked   sync.Mutex // guards what follows
	job     derivation // what is requested and not begun
	left    derivation // what has failed; it is retried with the next request
	queued  int        // calls that were announced and have not begun
	busy    bool
	hurry   bool                  // a caller waits until all is written
	settled bool                  // no write is delayed any more
	more    chan struct{}         // signalled when more is requested, or nothing is delayed any more; nil until a call gathers
	rested  time.Time             // when something was written last
	fault   string                // the last error; "" once it was repaired
	tags    map[string]bucket.Tag // of indexes as this deriver wrote them
}

// NewDeriver is a deriver for a log in a bucket.
func NewDeriver(l *protocol.Publisher, b bucket.Bucket) *Deriver {
	return &Deriver{origin: l, bucket: b}
}

// derivation is a request to write objects.
type derivation struct {
	shelf   *protocol.Shelf
	types   map[onto.TypeName]bool
	schemas bool
	rounds  int // types that need it
}

func (j *derivation) empty() bool { return len(j.types) == 0 && !j.schemas }

// add merges another request. The newer shelf counts.
func (j *derivation) add(o derivation) {
	if j.shelf == nil || o.shelf != nil && o.shelf.Tip.Head.Sequence > j.shelf.Tip.Head.Sequence {
		j.shelf = o.shelf
	}
	if j.types == nil {
		j.types = map[onto.TypeName]bool{}
	}
	maps.Copy(j.types, o.types)
	j.schemas = j.schemas || o.schemas
	j.rounds += o.rounds
}

// remove removes what another request names.
func (j *derivation) remove(o derivation) {
	maps.DeleteFunc(j.types, func(t onto.TypeName, _ bool) bool { return o.types[t] })
	j.schemas = j.schemas && !o.schemas
}

// enough reports whether enough is new to be worth writing.
func (j *derivation) enough() bool {
	files := 0
	for t := range j.types {
		files = max(files, len(j.shelf.Files[t]))
	}
	return j.schemas || j.rounds >= files/deriveGrowth
}

// Derive brings the derived objects of the types that were touched up to date with a
// shelf, and those about types if these have changed. It is called beside commits and
// returns at once if another call is writing, which then does this too. An error is
// kept as the last index warning only.
func (d *Deriver) Derive(ctx context.Context, s *protocol.Shelf, touched []onto.TypeName, schemaChanged bool) {
	d.asked.Lock()
	defer d.asked.Unlock()
	want := derivation{s, map[onto.TypeName]bool{}, schemaChanged, 1}
	for _, t := range touched {
		want.types[t] = true
	}
	if schemaChanged { // what was purged is not listed any more
		for t := range s.Types.Purged {
			want.types[t] = true
		}
	}
	d.queued = max(0, d.queued-1)
	d.job.add(want)
	d.tell()
	if d.busy {
		return
	}
	d.busy = true
	d.job.add(d.left)
	d.left = derivation{}
	for !d.job.empty() {
		d.gather()
		job := d.job
		d.job = derivation{shelf: job.shelf}
		d.asked.Unlock()
		failed, err := d.write(ctx, job)
		d.asked.Lock()
		d.left.remove(job)
		d.left.add(failed)
		d.rested = time.Now()
		if err != nil {
			d.fault = strings.ReplaceAll(err.Error(), "\n", "; ")
		}
	}
	d.busy = false
	if d.left.empty() {
		d.fault = ""
	}
}

// gather waits for further requests after a recent write, until there is enough to
// write or no more requests come. It is called and returns with the lock held.
func (d *Deriver) gather() {
	for time.Since(d.rested) < deriveQuiet && !d.settled && !d.hurry && !d.job.enough() {
		if d.more == nil {
			d.more = make(chan struct{}, 1)
		}
		quiet := time.NewTimer(deriveQuiet)
		d.asked.Unlock()
		over := false
		select {
		case <-d.more:
			quiet.Stop()
		case <-quiet.C:
			over = true
		}
		d.asked.Lock()
		if over {
			return
		}
		d.rested = time.Now() // the burst goes on
	}
}

// tell wakes the gathering call. It is called with the lock held.
func (d *Deriver) tell() {
	select {
	case d.more <- struct{}{}:
	default:
	}
}

// Announce says that a call of Derive is about to come.
func (d *Deriver) Announce() {
	d.asked.Lock()
	defer d.asked.Unlock()
	d.queued++
}

// Rest waits until all requests of this handle are written.
func (d *Deriver) Rest(ctx context.Context) error {
	for {
		d.asked.Lock()
		d.hurry = d.busy || d.queued > 0
		hurry := d.hurry
		d.tell()
		d.asked.Unlock()
		if !hurry {
			return nil
		}
		if err := backoff.Sleep(ctx, time.Millisecond); err != nil {
			return err
		}
	}
}

// Settle has all requests written without delay, now and from now on. It is called when
// the lake is closed, before background work is waited for.
func (d *Deriver) Settle() {
	d.asked.Lock()
	defer d.asked.Unlock()
	d.settled = true
	d.tell()
}

// Warning tells why something could not be written; "" if all was.
func (d *Deriver) Warning() string {
	d.asked.Lock()
	defer d.asked.Unlock()
	return d.fault
}

// write writes what is requested and returns what failed.
func (d *Deriver) write(ctx context.Context, job derivation) (derivation, error) {
	names := slices.SortedFunc(maps.Keys(job.types), onto.TypeName.Compare)
	errs := make([]error, len(names)+1)
	failed := derivation{types: map[onto.TypeName]bool{}}
	_ = protocol.SideBySide(len(errs), func(i int) error {
		switch {
		case i < len(names):
			errs[i] = d.writeIndex(ctx, job.shelf, names[i])
		case job.schemas:
			errs[i] = writeSchemas(ctx, d.origin)
		}
		return nil
	})
	var told []error
	for i, err := range errs {
		switch {
		case err == nil:
			continue
		case i < len(names):
			failed.types[names[i]] = true
		default:
			failed.schemas = true
		}
		if told = append(told, err); len(told) > 3 {
			told[3] = onto.Errorf(onto.Unavailable, "and others")
		}
	}
	return failed, errors.Join(told[:min(len(told), 4)]...)
}

// writeIndex writes the index of one type. One that this deriver wrote and that was
// not touched since need not be read again.
func (d *Deriver) writeIndex(ctx context.Context, s *protocol.Shelf, t onto.TypeName) error {
	key := indexKey(t)
	d.asked.Lock()
	tag := d.tags[key]
	delete(d.tags, key)
	d.asked.Unlock()
	var err error
	if tag != "" {
		tag, err = d.bucket.Swap(ctx, key, protocol.Encode(indexOf(s, t)), tag)
	}
	if tag == "" || err != nil {
		tag, err = d.origin.Amend(ctx, key, func(old []byte) ([]byte, error) { return nextIndex(ctx, d.origin.Log, s, t, old) })
	}
	if err != nil {
		return unwritten(key, err)
	}
	d.asked.Lock()
	defer d.asked.Unlock()
	if d.tags == nil {
		d.tags = map[string]bucket.Tag{}
	}
	d.tags[key] = tag
	return nil
}
