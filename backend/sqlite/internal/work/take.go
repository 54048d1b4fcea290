package work

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/attempts"
	"github.com/ontologia/onto/internal/codec"
)

// maxStep bounds how many items one transaction brings back.
const maxStep = 10_000

// taking is a dequeue under way.
type taking struct {
	*Tx
	*backend.WorkRequest
	next  time.Time
	given []backend.WorkState // items that were given up
}

// Dequeue takes items. With more set nothing is taken yet: so many leases have ended that
// it takes further transactions.
func (t *Tx) Dequeue(r *backend.WorkRequest) (taken backend.WorkTaken, more bool, err error) {
	k := &taking{Tx: t, WorkRequest: r}
	var delayed bool
	if taken.Lost, delayed, more, err = t.expire(); more || err != nil {
		return taken, more, err
	}
	if err := t.due(delayed); err != nil {
		return taken, false, err
	}
	if taken.Items, err = k.take(); err != nil {
		return taken, false, err
	}
	err = k.upcoming()
	taken.Next, taken.GivenUp = k.next, k.given
	return taken, false, err
}

// due takes the time from items whose time has come, or whose delay began by a clock that
// was ahead, if there are such.
func (t *Tx) due(delayed bool) error {
	const waits = ` SET not_before = NULL WHERE status = 'pending' AND not_before IS NOT NULL AND `
	err := t.exec(`UPDATE work_items INDEXED BY onto_work_due`+waits+`not_before <= ?`, t.at)
	if err != nil || !delayed {
		return err
	}
	return t.exec(`UPDATE work_items INDEXED BY onto_work_delayed`+waits+`attempt > 0 AND updated_at > ?`, t.ahead)
}

// expire returns items whose leases have ended, and closes their attempts. Delayed tells whether
// the delay of a retry began by a clock that was ahead.
func (t *Tx) expire() (lost int, delayed, more bool, err error) {
	const held = `SELECT work_item_id FROM work_items INDEXED BY onto_work_leases WHERE status = 'in_progress' AND lease_until `
	const ended = `SELECT * FROM (SELECT '' FROM work_items INDEXED BY onto_work_delayed WHERE status = 'pending' AND not_before IS NOT NULL AND attempt > 0
		AND updated_at > ?2 LIMIT 1) UNION ALL ` + held + `<= ?1 UNION ALL ` + held + `> ?2 LIMIT ?3 + 0`
	list, err := driver.List(context.Background(), t.w, ended, []any{t.at, t.ahead, maxStep}, func(r *driver.Rows) (string, error) { return r.Text(0), nil })
	if err != nil {
		return 0, false, false, err
	}
	if delayed = len(list) > 0 && list[0] == ""; delayed {
		list = list[1:]
	}
	for _, id := range list {
		n, err := t.change(`UPDATE work_attempts `+ofItem+` SET status = 'lost', finished_at = ? WHERE work_item_id = ? AND status = 'running'`, t.at, id)
		if err != nil {
			return 0, false, false, err
		}
		lost += int(n)
		if err := t.exec(`UPDATE work_items `+byItem+` SET status = 'pending', lease_owner = NULL, lease_until = NULL, updated_at = ? WHERE work_item_id = ?`, t.at, id); err != nil {
			return 0, false, false, err
		}
	}
	return lost, delayed, len(list) >= maxStep-1, nil
}

// source is a source with items that are ready.
type source struct {
	backend.WorkSource
	limit backend.WorkLimit
	room  int             // how many it may give
	busy  int             // items of it that are in progress, if it has a limit for them
	free  time.Time       // of its rate
	items []onto.WorkItem // the next ones
	last  []any           // where the last item that was read stands in the order, as stored; nil before the first
	gave  int
}

// take takes items in their order, as far as their sources allow.
func (k *taking) take() ([]onto.WorkItem, error) {
	sources, err := k.sources()
	if err != nil {
		return nil, err
	}
	var items []onto.WorkItem
	for len(items)+len(k.given) < k.Limit && len(sources) > 0 {
		i := 0
		for j := range sources {
			if before(&sources[j].items[0], &sources[i].items[0]) {
				i = j
			}
		}
		s := sources[i]
		item := s.items[0]
		s.items = s.items[1:]
		if k.Worn(&item) {
			if err := k.giveUp(&item); err != nil {
				return nil, err
			}
		} else {
			items = append(items, item)
			s.gave++
		}
		if s.gave == s.room {
			if err := k.full(s); err != nil {
				return nil, err
			}
			sources = slices.Delete(sources, i, i+1)
			continue
		}
		if len(s.items) == 0 {
			if err := k.ready(s, 32); err != nil {
				return nil, err
			}
		}
		if len(s.items) == 0 {
			if err := k.spent(s); err != nil {
				return nil, err
			}
			sources = slices.Delete(sources, i, i+1)
		}
	}
	for _, s := range sources {
		if err := k.spent(s); err != nil {
			return nil, err
		}
	}
	return items, k.start(items)
}

// full notes a source that has given as much as it may, with more to give.
func (k *taking) full(s *source) error {
	if err := k.spent(s); err != nil {
		return err
	}
	if s.limit.Every <= 0 || s.limit.Concurrent > 0 && s.busy+s.gave >= s.limit.Concurrent {
		return nil
	}
	if len(s.items) == 0 {
		if err := k.ready(s, 1); err != nil || len(s.items) == 0 {
			return err
		}
	}
	k.rated(s)
	return nil
}

// rated notes when the rate of a source allows more, if it is used up.
func (k *taking) rated(s *source) {
	if s.limit.Every > 0 && s.allowed(k.now) == 0 {
		k.soon(s.free.Add(-time.Duration(burst(&s.limit)-1) * s.limit.Every))
	}
}

// spent stores what a source has given, if it has a rate.
func (k *taking) spent(s *source) error {
	if s.gave == 0 || s.limit.Every <= 0 {
		return nil
	}
	for range s.gave {
		if s.free.Before(k.now) {
			s.free = k.now
		}
		s.free = s.free.Add(s.limit.Every)
	}
	return k.exec(`INSERT INTO onto_work_sources (source_system, source_name, free_at) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET free_at = excluded.free_at`,
		s.System, s.Source, codec.FormatTime(s.free))
}

func burst(l *backend.WorkLimit) int { return max(1, l.Burst) }

// sources finds the sources that have items ready and may give some. Each costs a seek or
// two, whatever it has.
func (k *taking) sources() ([]*source, error) {
	var list []*source
	systems := slices.Clone(k.Systems)
	slices.Sort(systems)
	for at := (*backend.WorkSource)(nil); ; {
		found, ok, err := k.nextSource(at, systems)
		if err != nil || !ok {
			return list, err
		}
		at = &found
		s, err := k.open(found)
		if err != nil {
			return nil, err
		}
		if s != nil {
			list = append(list, s)
		}
	}
}

// readyIndex is the index of what is ready, of all runs or of one.
func (k *taking) readyIndex() (from, where string, args []any) {
	if k.OnlyRun {
		return `work_items INDEXED BY onto_work_run_ready`, `status = 'pending' AND not_before IS NULL AND run_id IS NOT NULL AND run_id = ?`, []any{k.Run}
	}
	return `work_items INDEXED BY onto_work_ready`, `status = 'pending' AND not_before IS NULL`, nil
}

// nextSource finds the source after another one, or the first, of the wanted systems.
func (k *taking) nextSource(after *backend.WorkSource, systems []string) (found backend.WorkSource, ok bool, err error) {
	from, where, args := k.readyIndex()
	sql := `SELECT source_system, source_name FROM ` + from + ` WHERE ` + where
	first := func(condition string, more ...any) error {
		r, some, err := k.w.QueryRow(sql+condition+` ORDER BY source_system, source_name LIMIT 1`, append(slices.Clone(args), more...)...)
		if ok = some; err == nil && ok {
			found = backend.WorkSource{System: r.Text(0), Source: r.Text(1)}
		}
		return err
	}
	if k.Systems == nil {
		if after == nil {
			err = first(` AND (source_system, source_name) >= ('', '')`)
		} else {
			err = first(` AND (source_system, source_name) > (?, ?)`, after.System, after.Source)
		}
		return found, ok, err
	}
	for _, system := range systems {
		switch {
		case after == nil || system > after.System:
			err = first(` AND source_system = ?`, system)
		case system == after.System:
			err = first(` AND source_system = ? AND source_name > ?`, system, after.Source)
		}
		if ok || err != nil {
			break
		}
	}
	return found, ok, err
}

// open finds out how much a source may give, and reads its first item. It returns nil if
// it may give nothing.
func (k *taking) open(of backend.WorkSource) (*source, error) {
	limit, ok := k.Limits[of]
	if !ok {
		limit = k.Most
	}
	limit.Every = limit.Every.Truncate(time.Microsecond)
	s := &source{WorkSource: of, limit: limit, room: math.MaxInt}
	if limit.Concurrent > 0 {
		n, err := k.w.QueryInt(`SELECT count(*) FROM work_items INDEXED BY onto_work_running WHERE status = 'in_progress' AND source_system = ? AND source_name = ?`, of.System, of.Source)
		if err != nil {
			return nil, err
		}
		s.busy = int(n)
		if s.room = limit.Concurrent - s.busy; s.room <= 0 {
			return nil, nil
		}
	}
	if limit.Every > 0 {
		r, found, err := k.w.QueryRow(`SELECT free_at FROM onto_work_sources WHERE source_system = ? AND source_name = ?`, of.System, of.Source)
		if err != nil {
			return nil, err
		}
		if found {
			s.free = layout.TimeAt(r, 0)
		}
		if backend.Ahead(s.free, k.now) {
			s.free = k.now
		}
		rate := s.allowed(k.now)
		if rate == 0 {
			k.rated(s)
			return nil, nil
		}
		s.room = min(s.room, rate)
	}
	if k.Limit <= 0 {
		return nil, nil
	}
	return s, k.ready(s, 1)
}

// allowed is how many items the rate of a source allows now.
func (s *source) allowed(now time.Time) int {
	ahead := max(0, s.free.Sub(now))
	used := int((ahead + s.limit.Every - 1) / s.limit.Every)
	return max(0, burst(&s.limit)-used)
}

// ready reads the next items of a source that are ready.
func (k *taking) ready(s *source, limit int) error {
	from, where, args := k.readyIndex()
	sql := `SELECT ` + itemColumns + ` FROM ` + from + ` WHERE ` + where + ` AND source_system = ? AND source_name = ?`
	args = append(args, s.System, s.Source)
	if s.last != nil {
		sql += ` AND (priority, created_at, work_item_id) > (?, ?, ?)`
		args = append(args, s.last...)
	}
	var err error
	s.items, err = driver.List(context.Background(), k.w, sql+` ORDER BY priority, created_at, work_item_id LIMIT ? + 0`, append(args, limit), func(r *driver.Rows) (onto.WorkItem, error) {
		s.last = []any{r.Vals[10], r.Vals[15], r.Vals[0]}
		return itemAt(r), nil
	})
	return err
}

// before reports whether an item comes first.
func before(a, b *onto.WorkItem) bool {
	return cmp.Or(cmp.Compare(a.Priority, b.Priority), a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID)) < 0
}

// bulk is how many items one statement takes or completes.
const bulk = 128

var manyPlaces = strings.Repeat("?, ", bulk)

// places is parameters for ids; their number is a power of two, so that each connection
// prepares only a few statements.
func places(ids []any) (string, []any) {
	size := 1
	for size < len(ids) {
		size *= 2
	}
	all := slices.Grow(slices.Clone(ids), size-len(ids))
	for range size - len(ids) {
		all = append(all, ids[0])
	}
	return manyPlaces[:3*size-2], all
}

// start puts items in progress, with a new attempt each.
func (k *taking) start(items []onto.WorkItem) error {
	until := k.now.Add(k.Lease).Truncate(time.Microsecond)
	for part := range slices.Chunk(items, bulk) {
		ids := make([]any, len(part))
		for i := range part {
			it := &part[i]
			ids[i] = it.ID
			it.Status, it.Owner, it.Until, it.Updated = onto.WorkInProgress, k.Worker, until, k.now
			it.Attempt++
		}
		in, args := places(ids)
		err := k.exec(`UPDATE work_items `+byItem+` SET status = 'in_progress', attempt = attempt + 1, lease_owner = ?, lease_until = ?, updated_at = ? WHERE work_item_id IN (`+in+`)`,
			append([]any{k.Worker, codec.FormatTime(until), k.at}, args...)...)
		if err != nil {
			return err
		}
		err = k.exec(`INSERT INTO work_attempts (attempt_id, work_item_id, attempt_no, worker, run_id, started_at, status)
			SELECT work_item_id || ':' || attempt, work_item_id, attempt, ?, ?, ?, 'running' FROM work_items `+byItem+` WHERE work_item_id IN (`+in+`)`,
			append([]any{k.Worker, layout.OrNull(k.Run), k.at}, args...)...)
		if err != nil {
			return err
		}
	}
	return nil
}

// giveUp fails an item that was tried too often.
func (k *taking) giveUp(it *onto.WorkItem) error {
	list, err := attemptsOf(context.Background(), k.w, it.ID, it.Attempt)
	if err != nil {
		return err
	}
	var last *onto.WorkAttempt
	if len(list) > 0 {
		last = &list[0]
	}
	a := k.GiveUp(it, last, k.now)
	it.Attempt++
	it.Status, it.Updated, it.Error = onto.WorkFailed, k.now, a.Error
	a.ID, a.Item, a.Number = attempts.ID(it.ID, it.Attempt), it.ID, it.Attempt
	err = k.exec(`UPDATE work_items `+byItem+` SET status = 'failed', attempt = ?, error_message = ?, updated_at = ? WHERE work_item_id = ?`,
		it.Attempt, layout.OrNull(it.Error), k.at, it.ID)
	if err != nil {
		return err
	}
	k.given = append(k.given, backend.WorkState{WorkItem: *it, Attempts: []onto.WorkAttempt{a}})
	return k.addAttempt(&a)
}

// upcoming finds when more can be taken.
func (k *taking) upcoming() error {
	sql, args := `SELECT not_before FROM work_items INDEXED BY onto_work_due WHERE status = 'pending' AND not_before IS NOT NULL AND not_before > ?`, []any{k.at}
	if k.OnlyRun {
		sql, args = sql+` AND run_id = ?`, append(args, k.Run)
	}
	if k.Systems != nil {
		sql += ` AND source_system IN (` + strings.TrimSuffix(strings.Repeat("?, ", len(k.Systems)), ", ") + `)`
		for _, s := range k.Systems {
			args = append(args, s)
		}
	}
	for _, q := range []struct {
		sql  string
		args []any
	}{
		{sql + ` ORDER BY not_before LIMIT 1`, args},
		{`SELECT lease_until FROM work_items INDEXED BY onto_work_leases WHERE status = 'in_progress' AND lease_until > ? ORDER BY lease_until LIMIT 1`, []any{k.at}},
	} {
		r, ok, err := k.w.QueryRow(q.sql, q.args...)
		if err != nil {
			return err
		}
		if ok {
			k.soon(layout.TimeAt(r, 0))
		}
	}
	return nil
}

// soon notes a time at which more can be taken.
func (k *taking) soon(at time.Time) {
	if k.next.IsZero() || at.Before(k.next) {
		k.next = at
	}
}
