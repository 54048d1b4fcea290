package derived

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/audit"
)

// indexFault is something that is wrong with a derived object.
type indexFault struct {
	code    audit.Notice
	message string
}

// indexFaults is a derived object with what is wrong with it.
type indexFaults struct {
	repair backend.IndexRepair
	faults []indexFault
}

// Verify compares the index of every type, and what is told about types
// beside the catalog, with what the head leads to. All findings are warnings:
// answers do not depend on these objects. On a lake that is written to, an index
// that is about to be written is found to lag.
func (b *Objects) Verify(ctx context.Context) ([]onto.Finding, error) {
	list, err := b.survey(ctx)
	var findings []onto.Finding
	for _, o := range list {
		for _, f := range o.faults {
			findings = append(findings, f.code.Finding("%s: %s", o.repair.Key, f.message))
		}
	}
	return findings, err
}

// PlanRepair finds the derived objects that are not as they should be.
func (b *Objects) PlanRepair(ctx context.Context) (*backend.IndexPlan, error) {
	list, err := b.survey(ctx)
	if err != nil {
		return nil, err
	}
	plan := &backend.IndexPlan{}
	for _, o := range list {
		var reasons []string
		for _, f := range o.faults {
			reasons = append(reasons, f.message)
		}
		o.repair.Reason = strings.Join(reasons, "; ")
		plan.Items = append(plan.Items, o.repair)
	}
	return plan, nil
}

// Repair writes what a plan names, from what the head leads to by now.
func (b *Objects) Repair(ctx context.Context, plan *backend.IndexPlan) (int, error) {
	var written atomic.Int64
	w := &schemaWriter{log: b.Log}
	err := protocol.SideBySide(len(plan.Items), func(i int) error {
		o := &plan.Items[i]
		var err error
		if t := (onto.TypeName{Kind: o.Kind, Name: o.Type}); t != (onto.TypeName{}) && o.Key == indexKey(t) {
			err = b.repairIndex(ctx, t)
		} else {
			err = w.write(ctx, o.Key)
		}
		if o.Applied = err == nil; o.Applied {
			written.Add(1)
		}
		return err
	})
	return int(written.Load()), err
}

// Objects is what a lake derives for other programs.
type Objects struct {
	Log    *protocol.Publisher
	Bucket bucket.Bucket
	Newest func(context.Context) (*protocol.Shelf, error) // the shelf of the newest head
}

// repairIndex writes the index of a type, whatever is there.
func (b *Objects) repairIndex(ctx context.Context, t onto.TypeName) error {
	_, err := b.Log.Amend(ctx, indexKey(t), func([]byte) ([]byte, error) {
		s, err := b.Newest(ctx) // after the index was read: an index that is newer than this shelf is wrong
		if err != nil {
			return nil, err
		}
		return protocol.Encode(indexOf(s, t)), nil
	})
	return unwritten(indexKey(t), err)
}

// unwritten is the error for a derived object that could not be written.
func unwritten(key string, err error) error {
	if err == nil {
		return nil
	}
	code := onto.CodeOf(err)
	if code == "" {
		code = onto.Unavailable
	}
	return onto.Errorf(code, "%s could not be written: %w", key, err)
}

// survey returns the derived objects that are not as they should be, first
// those of types, in their order.
func (b *Objects) survey(ctx context.Context) ([]indexFaults, error) {
	s, err := b.Newest(ctx)
	if err != nil {
		return nil, err
	}
	var names []onto.TypeName
	if m := s.Tip.Manifest; m != nil {
		for _, e := range m.LastTouched {
			names = append(names, e.TypeName())
		}
	}
	objects := schemaObjects(s.Types.All)
	list := make([]indexFaults, len(names)+len(objects))
	err = protocol.SideBySide(len(list), func(i int) (err error) {
		if i < len(names) {
			list[i], err = b.index(ctx, s, names[i])
		} else {
			list[i], err = b.schema(ctx, objects[i-len(names)])
		}
		return err
	})
	return slices.DeleteFunc(list, func(o indexFaults) bool { return len(o.faults) == 0 }), err
}

// surveyTries is how often an index is checked again because the head has moved
// meanwhile.
const surveyTries = 5

// index checks the index of one type. A fault is reported only if the head has not
// moved meanwhile, or moves all the time.
func (b *Objects) index(ctx context.Context, s *protocol.Shelf, t onto.TypeName) (indexFaults, error) {
	for try := 1; ; try++ {
		body, err := b.read(ctx, indexKey(t))
		if err != nil {
			return indexFaults{}, err
		}
		found := judgeIndex(s, t, body)
		if len(found.faults) == 0 || try == surveyTries {
			return found, nil
		}
		now, err := b.Newest(ctx)
		if err != nil || now.Tip.Head.Sequence == s.Tip.Head.Sequence {
			return found, err
		}
		s = now
	}
}

// schema checks one object about types.
func (b *Objects) schema(ctx context.Context, o schemaObject) (indexFaults, error) {
	found := indexFaults{repair: backend.IndexRepair{Key: o.Key, Kind: o.name.Kind, Type: o.name.Name, After: o.count}}
	body, err := b.read(ctx, o.Key)
	switch {
	case err != nil:
	case body == nil:
		found.warn(audit.SchemaObjectStale, "it is missing")
	case bytes.Equal(body, o.Body):
	case !json.Valid(body):
		found.warn(audit.SchemaObjectStale, "it is not JSON")
	default:
		var list []json.RawMessage
		if protocol.Decode(o.Key, body, &list) == nil {
			found.repair.Before = len(list)
		}
		found.warn(audit.SchemaObjectStale, "it is not what the catalog says")
	}
	return found, err
}

// read reads a derived object; nil if there is none.
func (b *Objects) read(ctx context.Context, key string) ([]byte, error) {
	wait := b.Log.Waiter()
	for {
		o, err := b.Bucket.Get(ctx, key, bucket.Range{Max: protocol.MaxDocument}, "")
		switch {
		case err == nil && o.Data == nil:
			return []byte{}, nil
		case err == nil:
			return o.Data, nil
		case errors.Is(err, bucket.ErrNotFound):
			return nil, nil
		case errors.Is(err, bucket.ErrTooLarge):
			return []byte{}, nil // no object of its name is so large
		case protocol.Definite(err):
			return nil, err
		}
		if late := wait.Wait(ctx); late != nil {
			return nil, errors.Join(err, late)
		}
	}
}

func (f *indexFaults) warn(code audit.Notice, format string, args ...any) {
	if !slices.ContainsFunc(f.faults, func(o indexFault) bool { return o.code == code }) {
		f.faults = append(f.faults, indexFault{code, fmt.Sprintf(format, args...)})
	}
}

// judgeIndex compares an index with the one that a shelf leads to. Body is nil if there
// is no index.
func judgeIndex(s *protocol.Shelf, t onto.TypeName, body []byte) indexFaults {
	want := indexOf(s, t)
	found := indexFaults{repair: backend.IndexRepair{Key: indexKey(t), Kind: t.Kind, Type: t.Name, After: len(want.Entries)}}
	switch {
	case body == nil && len(want.Entries) == 0: // it was purged
		return found
	case body == nil:
		found.warn(audit.IndexObjectMissing, "it is missing")
		return found
	}
	x := new(index)
	if err := protocol.Decode(indexKey(t), body, x); err != nil {
		found.warn(audit.IndexDamaged, "it cannot be read: %v", protocol.WithoutKey(err))
		return found
	}
	found.repair.Before = len(x.Entries)
	if wrong := x.wrong(want); wrong != "" {
		found.warn(audit.IndexDamaged, "%s", wrong)
		return found
	}
	last := lastTouched(s, t)
	if x.Max < last {
		found.warn(audit.IndexLag, "it covers commits up to %d, and commit %d has touched the type", x.Max, last)
		return found // its entries are of another head
	}
	found.compare(x, want)
	return found
}

// lastTouched is the last commit that made versions of a type.
func lastTouched(s *protocol.Shelf, t onto.TypeName) int64 {
	if s.Tip.Manifest != nil {
		for _, e := range s.Tip.Manifest.LastTouched {
			if e.TypeName() == t {
				return e.Commit
			}
		}
	}
	return 0
}

// wrong tells what no index of the type can say; "" for nothing. Kind and store may be
// missing: other programs need not write them.
func (x *index) wrong(want *index) string {
	switch {
	case x.StoreID != "" && x.StoreID != want.StoreID:
		return "it belongs to another store, " + x.StoreID
	case x.Type != want.Type || x.Kind != "" && x.Kind != want.Kind:
		return fmt.Sprintf("it is that of the %s %s", x.Kind, x.Type)
	case x.Max > want.Max || x.Sequence > want.Sequence:
		return fmt.Sprintf("it covers commits up to %d of head %d, and the newest are commit %d and head %d", x.Max, x.Sequence, want.Max, want.Sequence)
	}
	var before indexEntry
	for _, e := range x.Entries {
		switch {
		case e.First < 1 || e.First > e.Last || e.Last > x.Max:
			return fmt.Sprintf("its entry of commits %d to %d is out of range", e.First, e.Last)
		case e.First <= before.Last && (e.First != before.First || e.Last != before.Last):
			return fmt.Sprintf("its entry of commits %d to %d overlaps another or is out of order", e.First, e.Last)
		}
		before = e
	}
	return ""
}

// compare adds how the entries of an index differ from those that it should have. Of
// each kind of difference only the newest is reported.
func (f *indexFaults) compare(x, want *index) {
	for _, e := range slices.Backward(want.Entries) {
		others := x.overlapping(e)
		i := slices.IndexFunc(others, func(o indexEntry) bool { return o.Path == e.Path })
		switch {
		case len(others) == 0:
			f.warn(audit.IndexEntryMissing, "no entry covers commits %d to %d", e.First, e.Last)
		case i < 0:
			f.warn(audit.IndexPathMismatch, "commits %d to %d are in %s, not in %s", e.First, e.Last, e.Path, others[0].Path)
		case !others[i].tells(e):
			f.warn(audit.IndexDamaged, "its entry of %s tells another range, size or hash", e.Path)
		}
	}
	for _, e := range slices.Backward(x.Entries) {
		others := want.overlapping(e)
		switch {
		case len(others) == 0:
			f.warn(audit.IndexDamaged, "commits %d to %d have made nothing that is in %s", e.First, e.Last, e.Path)
		case !slices.ContainsFunc(others, func(o indexEntry) bool { return o.Path == e.Path }):
			f.warn(audit.IndexPathMismatch, "commits %d to %d are in %s, not in %s", e.First, e.Last, others[0].Path, e.Path)
		}
	}
}

// overlapping returns the entries that share commits with another.
func (x *index) overlapping(e indexEntry) []indexEntry {
	from, _ := slices.BinarySearchFunc(x.Entries, e.First, func(o indexEntry, first int64) int { return int(o.Last - first) })
	to := from
	for to < len(x.Entries) && x.Entries[to].First <= e.Last {
		to++
	}
	return x.Entries[from:to]
}

// tells reports whether an entry says the same as another. Members that other
// programs need not write are not compared if they are missing.
func (e indexEntry) tells(want indexEntry) bool {
	if e.SHA256 == "" && e.Rows == 0 && e.Bytes == 0 {
		e.Rows, e.Bytes, e.SHA256 = want.Rows, want.Bytes, want.SHA256
	}
	return e == want
}
