package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/internal/codec"
)

// Get returns the newest version of an identity as of a commit.
func (b *Backend) Get(ctx context.Context, id onto.Identity, at int64) (onto.Version, error) {
	if err := ctx.Err(); err != nil {
		return onto.Version{}, err
	}
	c, err := b.reader.readers.Get()
	if err != nil {
		return onto.Version{}, driver.Wrap(b.at.Path, err)
	}
	v, err := b.reader.get(ctx, c, id, at)
	if c.IsStale() {
		v, err = onto.Version{}, b.reader.changedError()
	}
	b.reader.readers.Put(c)
	return v, driver.Wrap(b.at.Path, err)
}

func (rd *reader) get(ctx context.Context, c *driver.Conn, id onto.Identity, at int64) (onto.Version, error) {
	if at != backend.Head {
		return rd.getAt(c, id, at)
	}
	var buf [5]any
	t, args := rd.table(id.Kind), identityArgs(buf[:0], &id)
	r, ok, err := c.QueryRow(t.get, args...)
	if err == nil && ok && !readForeign(r).covers() {
		if err = rd.catchUp(ctx); err == nil {
			r, ok, err = c.QueryRow(t.get, args...)
		}
		if err == nil && ok && !readForeign(r).covers() {
			return rd.getAt(c, id, math.MaxInt64)
		}
	}
	if err != nil {
		return onto.Version{}, err
	}
	if ok {
		rd.sees(r.Int(7))
	}
	if !ok || r.Null(3) {
		return onto.Version{}, backend.NoVersion(id)
	}
	v := version(r, 3, id)
	if err := readForeign(r).sound(&v); err != nil {
		return onto.Version{}, err
	}
	return v, readable(&v)
}

// getAt reads history, which needs no projection.
func (rd *reader) getAt(c *driver.Conn, id onto.Identity, at int64) (onto.Version, error) {
	var buf [6]any
	r, ok, err := c.QueryRow(rd.table(id.Kind).getAt, append(identityArgs(buf[:0], &id), at)...)
	if err != nil {
		return onto.Version{}, err
	}
	if ok {
		rd.sees(r.Int(7))
	}
	if !ok || r.Null(3) {
		return onto.Version{}, backend.NoVersion(id)
	}
	v := version(r, 3, id)
	if err := readForeign(r).sound(&v); err != nil {
		return onto.Version{}, err
	}
	if err := checkIntact(r, 8, &v); err != nil {
		return onto.Version{}, err
	}
	return v, readForeign(r).canonical(&v)
}

// readable fails if a row of the projection says that its JSON is not.
func readable(v *onto.Version) error {
	if v.Fields == nil {
		return onto.Errorf(onto.Corrupt, "%s at commit %d: its JSON cannot be read", v.Identity, v.Commit).
			WithHint("see it with: sqlite3 FILE \"SELECT fields_json FROM %s_history WHERE commit_id = %d\"; a new put replaces it", v.Kind, v.Commit)
	}
	return nil
}

// foreignRows tells which history rows may come from another program. Theirs
// are not canonical; ours are.
type foreignRows struct {
	head    int64
	covered int64 // the projection covers this commit; nothing is known about later ones
	until   int64 // the last commit that is known to be foreign
}

// readForeign reads the columns of standing.
func readForeign(r *driver.Rows) foreignRows { return foreignRows{r.Int(0), r.Int(1), r.Int(2)} }

// covers reports whether the projection covers the head.
func (f foreignRows) covers() bool { return f.head == f.covered || f.head == 0 }

// maxStored is how many bytes of JSON a version may have. Other programs need not
// write it in the shortest form.
const maxStored = 2*onto.MaxFields + 64<<10

// sound fails if a row is none that a program has written.
func (f foreignRows) sound(v *onto.Version) error {
	switch {
	case v.Op != onto.Put && v.Op != onto.Delete:
		return damagedRow(v, "its op is %q", v.Op)
	case v.Commit < 1 || v.Commit > f.head:
		return damagedRow(v, "there is no such commit")
	case v.SchemaVersion < 1 || v.SchemaVersion > math.MaxInt32:
		return damagedRow(v, "its schema version is %d", v.SchemaVersion)
	case len(v.Fields) > maxStored:
		return damagedRow(v, "it has %d bytes of fields, more than the %d that are read", len(v.Fields), maxStored)
	}
	return nil
}

func damagedRow(v *onto.Version, format string, args ...any) error {
	return onto.Errorf(onto.Corrupt, "%s at commit %d: %s", v.Identity, v.Commit, fmt.Sprintf(format, args...)).
		WithHint("find out what is damaged with: onto doctor")
}

// canonical makes the fields of a history row canonical if they may not be.
func (f foreignRows) canonical(v *onto.Version) error {
	if v.Commit > f.until && v.Commit <= f.covered {
		return nil
	}
	fields, err := canonicalFields(v.Fields)
	if err != nil {
		return damagedJSON(v, err)
	}
	v.Fields = json.RawMessage(fields)
	return nil
}

// checkJSON makes sure of the fields of a version that is looked at in process:
// somebody may have changed the file.
func checkJSON(v *onto.Version) error {
	fields, err := codec.AppendCanonical(nil, v.Fields)
	if err != nil {
		return damagedJSON(v, err)
	}
	v.Fields = fields
	return nil
}

func damagedJSON(v *onto.Version, err error) error {
	return onto.Errorf(onto.Corrupt, "%s at commit %d: its JSON cannot be read: %w", v.Identity, v.Commit, err).
		WithHint("a new put replaces it")
}
