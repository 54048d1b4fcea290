package memory

import (
	"context"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/refusal"
	"github.com/ontologia/onto/internal/typelist"
)

// Schemas implements [backend.Backend].
func (b *Backend) Schemas(ctx context.Context) ([]onto.SchemaVersion, error) {
	now, err := b.moment(ctx)
	if err != nil {
		return nil, err
	}
	return typelist.Copy(now.schemas), nil
}

// Register implements [backend.Backend]. Types that exist as given need no write lock.
func (b *Backend) Register(ctx context.Context, r *backend.Registration) ([]onto.SchemaVersion, error) {
	now, err := b.moment(ctx)
	if err != nil {
		return nil, err
	}
	if same, changed, err := now.registered(r, time.Time{}); err == nil && !changed {
		return same.named(r), nil
	}
	if err := b.lockWrite(ctx, nil); err != nil {
		return nil, err
	}
	s := b.store
	defer s.mu.Unlock()
	next, _, err := s.log.registered(r, s.stamp())
	if err != nil {
		return nil, err
	}
	s.log = next
	s.wrote()
	return next.named(r), nil
}

// registered returns the log with the types of a registration, and whether that
// changes anything. The log itself stays as it is.
func (l log) registered(r *backend.Registration, now time.Time) (next log, changed bool, err error) {
	next = l
	next.schemas = slices.Clone(l.schemas)
	var diffs []onto.Difference
	for _, given := range r.Schemas {
		if v := next.existing(given.TypeName()); v != nil {
			d := onto.DiffSchemas(v.Schema, given)
			if !d.Empty() && !l.serves(given) {
				diffs = append(diffs, d)
			} else if d.Empty() && len(d.Flags) > 0 {
				changed, v.Schema = true, v.Schema.WithFlags(given)
			}
			continue
		}
		for _, kind := range onto.Kinds() {
			if next.existing(onto.TypeName{Kind: kind, Name: given.Name}) != nil {
				return log{}, false, refusal.NameTaken(given.Name, kind)
			}
		}
		changed = true
		next.add(given, nil, r.Origin(), now)
	}
	if diffs != nil {
		return log{}, false, refusal.TypesDiffer(diffs)
	}
	return next, changed, nil
}

// add adds the next version of a type.
func (l *log) add(s onto.Schema, u *onto.StoredUpgrader, by backend.TypeOrigin, now time.Time) {
	v := typelist.New(s, typelist.NextVersion(l.schemas, s.TypeName()))
	v.Upgrader, v.Since, v.Created = u, l.head()+1, now
	v.Runtime, v.Reason, v.Actor, v.Comment = by.Runtime, by.Reason, by.Actor, by.Comment
	l.schemas = append(l.schemas, v)
	slices.SortFunc(l.schemas, typelist.Compare)
}

// last returns the last version of a type, also if it has ended; nil if there
// never was one.
func (l log) last(t onto.TypeName) *onto.SchemaVersion {
	if i := typelist.LastOf(l.schemas, t); i >= 0 {
		return &l.schemas[i]
	}
	return nil
}

// existing returns the newest version of a type; nil if it does not exist.
func (l log) existing(t onto.TypeName) *onto.SchemaVersion {
	if v := l.last(t); v != nil && v.End == nil {
		return v
	}
	return nil
}

// named returns the newest versions of the types of a registration.
func (l log) named(r *backend.Registration) []onto.SchemaVersion {
	list := []onto.SchemaVersion{}
	for _, given := range r.Schemas {
		list = append(list, *l.existing(given.TypeName()))
	}
	return typelist.Copy(list)
}
