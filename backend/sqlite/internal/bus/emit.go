package bus

import (
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/refusal"
)

// Resolve records the tick of an emission and what is done about dead letters. It
// reports false if the tick has passed: then nothing is to be emitted. After a refusal
// nothing was written.
func (t *Tx) Resolve(e *backend.Emission) (ok bool, refused, err error) {
	if k := e.Tick; k != nil {
		r, found, err := t.w.QueryRow(`SELECT tick FROM onto_event_schedules WHERE namespace = ? AND name = ?`, k.Namespace, k.Schedule)
		if err != nil {
			return false, nil, err
		}
		if found && !k.Time.After(layout.StoredTime(r.Text(0))) {
			return false, nil, nil
		}
	}
	seen := map[int64]bool{}
	for _, d := range e.Resolve {
		if refused, err := t.unresolved(d.ID, seen[d.ID], d.Kind); refused != nil || err != nil {
			return false, refused, err
		}
		seen[d.ID] = true
	}
	return true, nil, t.resolve(e)
}

// unresolved refuses a dead letter that does not exist or was resolved before.
func (t *Tx) unresolved(id int64, twice bool, kind onto.ResolutionKind) (refused, err error) {
	r, found, err := t.w.QueryRow(`SELECT resolution FROM dead_letters WHERE id = ?`, id)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return refusal.NoDeadLetter(id), nil
	case !r.Null(0):
		return refusal.DeadLetterResolved(id, onto.Resolution{Kind: onto.ResolutionKind(r.Text(0))}), nil
	case twice:
		return refusal.DeadLetterResolved(id, onto.Resolution{Kind: kind}), nil
	}
	return nil, nil
}

func (t *Tx) resolve(e *backend.Emission) error {
	if k := e.Tick; k != nil {
		err := t.exec(`INSERT INTO onto_event_schedules (namespace, name, tick) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET tick = excluded.tick`,
			k.Namespace, k.Schedule, codec.FormatTime(k.Time.UTC().Truncate(time.Microsecond)))
		if err != nil {
			return err
		}
	}
	for _, d := range e.Resolve {
		err := t.exec(`UPDATE dead_letters SET resolved_at = ?, resolution = ?, resolved_by_kind = ?, resolved_by = ?, replay_event_id = ? WHERE id = ?`,
			t.at, string(d.Kind), layout.OrNull(string(d.By.Kind)), layout.OrNull(d.By.ID), layout.OrNull(d.Replay), d.ID)
		if err != nil {
			return err
		}
	}
	return nil
}
