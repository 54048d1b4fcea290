package work

import (
	"context"
	"errors"
	"hash/maphash"
	"iter"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/attempts"
	"github.com/ontologia/onto/internal/uuid"
)

// ImportOptions change how items are imported. The zero value is the default.
type ImportOptions struct {
	Rows int64          // how many items there must be; 0 if that is not known
	Runs []onto.WorkRun // runs to add, too, unless they exist
}

// Imported is what an import of items does, or has done.
type Imported struct {
	Items    int64                     // that were given
	New      int64                     // items that are new
	Known    int64                     // items that were known by their keys, and stay as they are
	ByStatus map[onto.WorkStatus]int64 // the new ones, as they are here
	Released int64                     // of the new ones: in progress there, and pending here, since the worker's lease is of another queue
	Counted  int64                     // of the new ones: only the number of their attempts is kept, since the attempts do not explain them
	Renamed  int64                     // of the new ones: with another id, since another item has theirs
	Runs     int64                     // runs that are new

	Refused int64   // items that cannot be imported
	Reasons []error // why, for the first of them
}

// maxReasons is how many items that are refused are told.
const maxReasons = 20

// Err is the error for items that are refused; nil for none.
func (d *Imported) Err() error {
	if d.Refused == 0 {
		return nil
	}
	return errors.Join(d.Reasons...)
}

// PlanImport tells what [Queue.Import] would do, and changes nothing. Items that are refused
// are no error.
func (q *Queue) PlanImport(ctx context.Context, from iter.Seq2[ImportItem, error], o *ImportOptions) (Imported, error) {
	p, err := q.planImport(ctx, from, o)
	if err != nil {
		return Imported{}, err
	}
	return p.did, nil
}

// Import adds items of another queue as they are there: with their status, the number of
// their attempts, times, keys, runs, parents and errors, and with the attempts that are
// given. Items that are in progress there are pending here, and their attempts are lost.
// Items that are known by their keys stay as they are.
//
// From is read twice: all items are checked before the first is added, and if one is refused,
// or their number is another one, none is. Many are added in several transactions; an import
// that was interrupted can be repeated. The memory it takes is some bytes for each item, and
// the ids of those that are known, or get, another one.
func (q *Queue) Import(ctx context.Context, from iter.Seq2[ImportItem, error], o *ImportOptions) (Imported, error) {
	p, err := q.planImport(ctx, from, o)
	if err == nil {
		err = p.did.Err()
	}
	if err != nil {
		return Imported{}, err
	}
	did := Imported{ByStatus: map[onto.WorkStatus]int64{}}
	if o != nil {
		did.Runs, err = q.importRuns(ctx, o.Runs, true)
	}
	if err != nil {
		return did, err
	}
	now := time.Now().UTC().Truncate(time.Microsecond)
	err = chunks(from, func(list []ImportItem) error { return q.bring(ctx, p, list, now, &did) })
	return did, err
}

// importPlan is what is known about the items of an import.
type importPlan struct {
	did   Imported
	names map[string]string // ids here by those of the file, where they differ
	fresh map[string]bool   // those of them that are given by the import
	seed  maphash.Seed
	seen  map[uint64]bool // hashes of ids and keys
}

func (q *Queue) planImport(ctx context.Context, from iter.Seq2[ImportItem, error], o *ImportOptions) (*importPlan, error) {
	if o == nil {
		o = &ImportOptions{}
	}
	p := &importPlan{
		did:   Imported{ByStatus: map[onto.WorkStatus]int64{}},
		names: map[string]string{}, fresh: map[string]bool{}, seed: maphash.MakeSeed(), seen: map[uint64]bool{},
	}
	err := chunks(from, func(list []ImportItem) error { return q.plan(ctx, p, list) })
	if err == nil && o.Rows > 0 && p.did.Items != o.Rows {
		err = onto.Errorf(onto.Invalid, "there are %d items, %d were expected", p.did.Items, o.Rows).
			WithHint("count them at the source with SELECT COUNT(*) FROM work_items, and export them again if they differ")
	}
	if err == nil {
		p.did.Runs, err = q.importRuns(ctx, o.Runs, false)
	}
	return p, err
}

// chunks calls f with as many items as one transaction adds.
func chunks(from iter.Seq2[ImportItem, error], f func([]ImportItem) error) error {
	var list []ImportItem
	for e, err := range from {
		if err != nil {
			return err
		}
		if list = append(list, e); len(list) == enqueueChunk {
			if err := f(list); err != nil {
				return err
			}
			list = list[:0]
		}
	}
	if len(list) == 0 {
		return nil
	}
	return f(list)
}

// plan looks at some items.
func (q *Queue) plan(ctx context.Context, p *importPlan, list []ImportItem) error {
	p.did.Items += int64(len(list))
	var sound []*ImportItem
	for n := range list {
		e := &list[n]
		if err := p.check(e); err != nil {
			if p.did.Refused++; len(p.did.Reasons) < maxReasons {
				p.did.Reasons = append(p.did.Reasons, err)
			}
			continue
		}
		sound = append(sound, e)
	}
	known, taken, err := q.present(ctx, sound)
	if err != nil {
		return err
	}
	for _, e := range sound {
		o := backend.KnownWork(&e.WorkItem, func(key string) *onto.WorkItem { return known[key] })
		isKnown := o != nil
		switch {
		case isKnown && o.ID != e.ID:
			p.names[e.ID] = o.ID
		case !isKnown && taken[e.ID]:
			p.names[e.ID] = uuid.V4()
			p.fresh[e.ID] = true
		}
		p.did.count(e, !isKnown, p.fresh[e.ID])
	}
	return nil
}

// check reports why an item is refused.
func (p *importPlan) check(e *ImportItem) error {
	if e.Err != nil {
		return e.Err
	}
	for _, m := range []struct{ what, text string }{{"item ", e.ID}, {"dedupe key ", e.Key}} {
		hash := maphash.String(p.seed, m.what+m.text)
		if p.seen[hash] {
			return e.refuse("the %s%.200q comes twice", m.what, m.text)
		}
		p.seen[hash] = true
	}
	return nil
}

// count counts what becomes of an item.
func (d *Imported) count(e *ImportItem, isNew, renamed bool) {
	if !isNew {
		d.Known++
		return
	}
	d.New++
	status := e.Status
	if status == onto.WorkInProgress {
		status = onto.WorkPending
		d.Released++
	}
	d.ByStatus[status]++
	if e.counted {
		d.Counted++
	}
	if renamed {
		d.Renamed++
	}
}

// present finds which of some items are known: items by their keys, and the ids that items
// have.
func (q *Queue) present(ctx context.Context, list []*ImportItem) (known map[string]*onto.WorkItem, taken map[string]bool, err error) {
	known, taken = map[string]*onto.WorkItem{}, map[string]bool{}
	if len(list) == 0 {
		return known, taken, nil
	}
	var keys, ids []string
	for _, e := range list {
		keys, ids = append(keys, backend.WorkKeys(&e.WorkItem)...), append(ids, e.ID)
	}
	for _, query := range []*backend.WorkQuery{{Keys: keys}, {IDs: ids}} {
		for w, err := range q.port.WorkItems(ctx, query) {
			if err != nil {
				return nil, nil, err
			}
			known[w.Key], taken[w.ID] = &w.WorkItem, true
		}
	}
	return known, taken, nil
}

// bring adds some items.
func (q *Queue) bring(ctx context.Context, p *importPlan, list []ImportItem, now time.Time, did *Imported) error {
	items := make([]backend.WorkState, len(list))
	for n := range list {
		if list[n].Err != nil { // it was sound when it was planned
			return list[n].Err
		}
		items[n] = p.stateOf(&list[n], now)
	}
	fresh, err := q.port.ImportItems(ctx, items)
	if err != nil {
		return err
	}
	for n, isNew := range fresh {
		did.Items++
		did.count(&list[n], isNew, p.fresh[list[n].ID])
	}
	return nil
}

// stateOf is an item as it is added.
func (p *importPlan) stateOf(e *ImportItem, now time.Time) backend.WorkState {
	s := e.WorkState
	if id, ok := p.names[s.ID]; ok {
		s.ID = id
	}
	if id, ok := p.names[s.Parent]; ok {
		s.Parent = id
	}
	list := s.Attempts
	s.Attempts = nil
	for _, a := range list {
		a.Item, a.ID = s.ID, attempts.ID(s.ID, a.Number)
		if a.Status == onto.AttemptRunning {
			a.Status, a.Finished = onto.AttemptLost, now
		}
		s.Attempts = append(s.Attempts, a)
	}
	if s.Status == onto.WorkInProgress {
		s.Status, s.Updated = onto.WorkPending, now
	}
	s.Owner, s.Until = "", time.Time{}
	return s
}

// importRuns counts the runs that are new, and adds them if that is asked for.
func (q *Queue) importRuns(ctx context.Context, runs []onto.WorkRun, add bool) (n int64, err error) {
	if len(runs) == 0 {
		return 0, nil
	}
	list, err := q.port.WorkRuns(ctx)
	known := map[string]bool{}
	for _, r := range list {
		known[r.ID] = true
	}
	for _, r := range runs {
		if err == nil && !known[r.ID] {
			if r, err = checkRun(r); err == nil && add {
				err = q.port.SaveRun(ctx, r, true)
			}
			n++
		}
	}
	return n, err
}

// checkRun refuses a run that no program of ours has written.
func checkRun(r onto.WorkRun) (onto.WorkRun, error) {
	err := checkText("the run id", r.ID, 1, onto.MaxKey)
	if err == nil && r.Started.IsZero() {
		err = onto.Errorf(onto.Invalid, "nothing readable says when it began")
	}
	if err == nil {
		r.Options, err = canonicalObject("its options", r.Options)
	}
	if err == nil {
		r.Counts, err = canonicalObject("its counts", r.Counts)
	}
	if err != nil {
		return r, onto.Errorf(onto.CodeOf(err), "run %.80q: %w", r.ID, err)
	}
	return r, nil
}
