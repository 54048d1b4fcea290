package query

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/datafile"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/exec"
)

// plainBytes is how much memory the versions may take that a question reads in
// process.
const plainBytes = 64 << 20

// plain is the engine for a little data: it reads files in process.
type plain struct{ *datafile.Reader }

// versions returns the versions of a table up to a commit, by identity, then
// commit.
func (p plain) versions(ctx context.Context, s *protocol.Shelf, t *table, at int64) ([]onto.Version, error) {
	if t == nil {
		return nil, nil
	}
	found := make([][]onto.Version, len(t.files))
	var taken atomic.Int64
	err := protocol.SideBySide(len(t.files), func(i int) (err error) {
		found[i], err = p.read(ctx, &t.files[i], at, s.Types.Purged[t.TypeName], &taken)
		return err
	})
	list := slices.Concat(found...)
	slices.SortFunc(list, func(a, b onto.Version) int { return datafile.Compare(&a, &b) })
	return list, err
}

// read returns the versions of a file up to a commit, without those of schema
// versions that were purged. It adds the memory that they take.
func (p plain) read(ctx context.Context, f *protocol.FileEntry, at int64, purged int, taken *atomic.Int64) ([]onto.Version, error) {
	file, done, err := p.Use(ctx, f)
	if err != nil {
		return nil, err
	}
	defer done()
	all, bytes, err := file.Versions(ctx, plainBytes-taken.Load())
	if err == nil && taken.Add(bytes) > plainBytes {
		err = datafile.ErrUnfolds
	}
	if err != nil {
		return nil, err
	}
	list := make([]onto.Version, 0, len(all))
	for _, v := range all {
		if v.Commit <= at && v.SchemaVersion > purged {
			list = append(list, v)
		}
	}
	return list, err
}

// rows yields the versions of a query's type, mode, moment and keys, in the order of
// its mode.
func (p plain) rows(ctx context.Context, q *backend.Query, c *scope) iter.Seq2[onto.Version, error] {
	return exec.Pushed(func(push func(onto.Version) error) error {
		list, err := p.versions(ctx, c.Shelf, c.own, c.reach(q.At))
		if err != nil {
			return err
		}
		if q.Mode == backend.State {
			list = newestOf(list)
		} else {
			slices.SortStableFunc(list, func(a, b onto.Version) int { return cmp.Compare(a.Commit, b.Commit) })
		}
		for _, v := range list {
			if !about(q, &v) {
				continue
			}
			v.Fields = bytes.Clone(v.Fields) // its receiver may change it
			if err := push(v); err != nil {
				return err
			}
		}
		return nil
	})
}

// newestOf keeps the last version of each identity. It changes the list.
func newestOf(list []onto.Version) []onto.Version {
	kept := list[:0]
	for i := range list {
		if i+1 == len(list) || list[i+1].Identity != list[i].Identity {
			kept = append(kept, list[i])
		}
	}
	return kept
}

// about reports whether a version has a query's mode, window and keys.
func about(q *backend.Query, v *onto.Version) bool {
	if q.Mode == backend.State && !v.Live() || q.Mode == backend.History && v.Commit <= q.Since {
		return false
	}
	if q.Mode == backend.History && q.Identity != nil && v.Identity != *q.Identity {
		return false
	}
	return (q.Keys == nil || slices.Contains(q.Keys, v.Key)) &&
		(q.LeftKeys == nil || slices.Contains(q.LeftKeys, v.Left)) &&
		(q.RightKeys == nil || slices.Contains(q.RightKeys, v.Right))
}

// ends returns how to find the endpoints of a query's relations: as of the query's
// moment, in a history as of each version's own commit. They are read when they are
// first asked for.
func (p plain) ends(ctx context.Context, q *backend.Query, c *scope) exec.Endpoints {
	var left, right []onto.Version
	read := sync.OnceValue(func() (err error) {
		if left, err = p.versions(ctx, c.Shelf, c.left, c.reach(q.At)); err == nil {
			right, err = p.versions(ctx, c.Shelf, c.right, c.reach(q.At))
		}
		return err
	})
	return func(v *onto.Version) (json.RawMessage, json.RawMessage, error) {
		at := c.reach(q.At)
		if q.Mode == backend.History {
			at = v.Commit
		}
		err := read()
		return fieldsAt(left, v.Left, at), fieldsAt(right, v.Right, at), err
	}
}

// fieldsAt returns the fields of an entity as of a commit, or nil if it did not
// exist. The list is sorted by identity, then commit.
func fieldsAt(list []onto.Version, key string, at int64) json.RawMessage {
	i, _ := slices.BinarySearchFunc(list, at+1, func(v onto.Version, commit int64) int {
		return cmp.Or(cmp.Compare(v.Key, key), cmp.Compare(v.Commit, commit))
	})
	if i == 0 || list[i-1].Key != key || !list[i-1].Live() {
		return nil
	}
	return list[i-1].Fields
}

// diff yields what differs between two commits.
func (p plain) diff(ctx context.Context, from, to int64, c *scope) iter.Seq2[onto.Change, error] {
	return exec.Pushed(func(push func(onto.Change) error) error {
		list, err := p.versions(ctx, c.Shelf, c.own, to)
		for i := 0; i < len(list) && err == nil; {
			var before, after *onto.Version
			for id := list[i].Identity; i < len(list) && list[i].Identity == id; i++ {
				if list[i].Commit <= from {
					before = &list[i]
				}
				after = &list[i]
			}
			if change, differs := exec.Difference(datafile.CopyOf(before), datafile.CopyOf(after)); differs {
				err = push(change)
			}
		}
		return err
	})
}
