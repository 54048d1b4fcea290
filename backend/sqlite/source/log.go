package source

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/internal/audit"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/refusal"
)

// metadataMember is the member of a commit's metadata that says what the commit was in the
// file, where it is otherwise in the copy.
const metadataMember = "onto_source"

// Log implements [backend.LogSource]. With [Options.Rejects], rows that cannot be stored are
// set aside; [File.KeepRejects] has them written.
func (f *File) Log(ctx context.Context, since int64) iter.Seq2[backend.LogEntry, error] {
	return func(yield func(backend.LogEntry, error) bool) {
		if err := f.log(ctx, since, yield); err != nil && err != errStopped {
			yield(backend.LogEntry{}, driver.Wrap(f.place.Path, err))
		}
	}
}

func (f *File) log(ctx context.Context, since int64, yield func(backend.LogEntry, error) bool) error {
	m, err := f.begin(ctx)
	if err != nil {
		return err
	}
	defer m.close()
	if since < 0 || since > m.plan.head {
		return refusal.NoCommit(since, m.plan.head)
	}
	r := &reading{moment: m, ctx: ctx, rejects: f.rejects}
	if r.rejects != nil {
		r.rejects.begin(m.plan.turn)
	}
	return r.commits(since, r.plan.head, yield)
}

// errStopped says that nobody wants more.
var errStopped = fmt.Errorf("stopped")

// reading is one pass over the log.
type reading struct {
	*moment
	ctx     context.Context
	rejects *rejects // nil if there is no file for them
	counts  counts   // nil if nothing is counted

	rows int // read in this transaction
}

// perTransaction is how many rows are read in one transaction.
const perTransaction = 5000

// commits yields the commits after one.
func (r *reading) commits(since, until int64, yield func(backend.LogEntry, error) bool) error {
	for id := since + 1; id <= min(until, r.plan.head); id++ {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if r.live && r.rows > perTransaction {
			if err := r.again(r.ctx); err != nil {
				return err
			}
			r.rows = 0
		}
		if err := r.commit(id, yield); err != nil {
			return err
		}
		r.rows++
	}
	return nil
}

// commit yields a commit with its versions. How many there are comes first, so they are
// counted before, and kept if they are few.
func (r *reading) commit(id int64, yield func(backend.LogEntry, error) bool) error {
	c, was, err := r.header(id)
	if err != nil {
		return err
	}
	var kept []onto.Version
	size := 0
	if r.rejects != nil {
		if err := r.rejects.enter(id, r.plan.turn); err != nil {
			return err
		}
	}
	err = r.versions(id, was, true, func(v *onto.Version) error {
		c.Operations++
		if size += sizeOf(v); size <= maxKept {
			kept = append(kept, *v)
		} else {
			kept = nil
		}
		return nil
	})
	if r.rejects != nil {
		err = r.rejects.leave(id, err)
	}
	if err != nil {
		return err
	}
	if !yield(backend.LogEntry{Commit: c}, nil) {
		return errStopped
	}
	if size <= maxKept {
		for i := range kept {
			if !yield(backend.LogEntry{Version: kept[i]}, nil) {
				return errStopped
			}
		}
		return nil
	}
	return r.versions(id, was, false, func(v *onto.Version) error {
		if !yield(backend.LogEntry{Version: *v}, nil) {
			return errStopped
		}
		return nil
	})
}

// maxKept is how many bytes of the versions of a commit are kept.
const maxKept = 4 << 20

func sizeOf(v *onto.Version) int {
	return len(v.Key) + len(v.Left) + len(v.Right) + len(v.Instance) + len(v.Fields) + 200
}

// header reads a commit, without the number of its operations, and its id in the file.
func (r *reading) header(id int64) (c *backend.LogCommit, was int64, err error) {
	sql := `SELECT l.was, l.at, l.how, c.id IS NOT NULL, c.created_at, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s
		FROM plan.log l LEFT JOIN main.commits c ON c.id = l.was WHERE l.id = ?`
	row, ok, err := r.QueryRowContext(r.ctx, fmt.Sprintf(sql, r.f.columns("commits", "metadata_json", "runtime_id", "actor_kind", "actor_id", "causation_id",
		"correlation_id", "signature_ref", "comment", "idempotency_key", "draft_hash")...), id)
	if err == nil && !ok {
		err = onto.Errorf(onto.Unavailable, "%s: the plan lacks commit %d", r.f.place.Path, id).WithHint("start again")
	}
	if err != nil {
		return nil, 0, err
	}
	was = row.Int(0)
	c = &backend.LogCommit{Digest: row.Text(14), Commit: onto.Commit{
		ID: id, Time: time.UnixMicro(row.Int(1)).UTC(), Runtime: row.Text(6), Actor: onto.Actor{Kind: onto.ActorKind(row.Text(7)), ID: row.Text(8)},
		Causation: row.Int(9), Correlation: row.Text(10), Signature: row.Text(11), Comment: row.Text(12), IdempotencyKey: row.Text(13),
	}}
	source := mendTexts(c)
	cause := c.Causation
	if c.Causation, err = r.renumbered(cause); err != nil {
		return nil, 0, err
	}
	if c.Causation < 0 {
		c.Causation = 0
		source = append(source, codec.Member{Name: "causation_id", Value: strconv.AppendInt(nil, cause, 10)})
	}
	if r.counts != nil && len(source) > 0 {
		r.counts.add(backend.TextsRewritten, "")
	}
	if was != id {
		source = append(source, codec.Member{Name: "id", Value: strconv.AppendInt(nil, was, 10)})
	}
	metadata, err := objectOf(row.Bytes(5))
	if err != nil {
		source = append(source, textMember("metadata", row.Text(5)))
	}
	if row.Int(2)&timeRaised != 0 {
		source = append(source, textMember("time", row.Text(4)))
	}
	if r.counts != nil && err != nil {
		r.counts.add(backend.RowsRewritten, "commits")
	}
	slices.SortFunc(source, func(a, b codec.Member) int { return strings.Compare(a.Name, b.Name) })
	c.Metadata = withSource(metadata, source)
	return c, was, nil
}

// mendTexts makes texts of what a commit has in their place, and returns what that was. A key
// that no draft can have is left out: mended, it might be another one.
func mendTexts(c *backend.LogCommit) (source []codec.Member) {
	kind := string(c.Actor.Kind)
	for _, of := range []struct {
		name string
		text *string
	}{
		{"actor_id", &c.Actor.ID}, {"actor_kind", &kind}, {"comment", &c.Comment}, {"correlation_id", &c.Correlation}, {"draft_hash", &c.Digest},
		{"idempotency_key", &c.IdempotencyKey}, {"runtime_id", &c.Runtime}, {"signature_ref", &c.Signature},
	} {
		mended := strings.ReplaceAll(strings.ToValidUTF8(*of.text, "\uFFFD"), "\x00", "")
		if mended == *of.text {
			continue
		}
		source = append(source, textMember(of.name, *of.text))
		if *of.text = mended; of.text == &c.IdempotencyKey {
			c.IdempotencyKey, c.Digest = "", ""
		}
	}
	c.Actor.Kind = onto.ActorKind(kind)
	return source
}

// renumbered is the id in the copy of a commit that something refers to; what refers to none
// stays.
func (r *reading) renumbered(was int64) (int64, error) {
	if was == 0 || !r.plan.gaps {
		return was, nil
	}
	id, exact, err := r.plan.rank(r.ctx, r.Conn, was)
	if err != nil || exact {
		return id, err
	}
	return was, nil
}

// objectOf is metadata in its canonical form; nil for none.
func objectOf(text []byte) ([]codec.Member, error) {
	if len(text) == 0 {
		return nil, nil
	}
	fields, err := codec.AppendCanonical(nil, text)
	switch {
	case err != nil:
		return nil, err
	case codec.KindOf(fields) == codec.Null:
		return nil, nil
	case codec.KindOf(fields) != codec.Object:
		return nil, fmt.Errorf("expected an object, found %s", codec.KindOf(fields))
	}
	return codec.Members(fields), nil
}

func textMember(name, text string) codec.Member {
	value, err := codec.AppendString(nil, text)
	if err != nil {
		value, _ = codec.AppendString(nil, fmt.Sprintf("%q", text)) // of ASCII
	}
	return codec.Member{Name: name, Value: value}
}

// withSource is metadata with what the commit was in the file, if that is anything; nil for
// none.
func withSource(metadata, source []codec.Member) json.RawMessage {
	if len(source) > 0 {
		at := 0
		for at < len(metadata) && metadata[at].Name < metadataMember {
			at++
		}
		rest := metadata[at:]
		if len(rest) > 0 && rest[0].Name == metadataMember {
			rest = rest[1:]
		}
		member := codec.Member{Name: metadataMember, Value: codec.AppendObject(nil, source)}
		metadata = append(append(metadata[:at:at], member), rest...)
	}
	if len(metadata) == 0 {
		return nil
	}
	return codec.AppendObject(nil, metadata)
}

// versions calls f with each version of a commit, in order of identity. The first time, what
// cannot be stored is rejected, and everything is counted.
func (r *reading) versions(id, was int64, first bool, f func(v *onto.Version) error) error {
	for _, t := range r.f.tables {
		if t == nil {
			continue
		}
		var last onto.Identity
		err := r.Each(r.ctx, t.ofCommit, []any{was}, func(rows *driver.Rows) error {
			v := t.read(rows)
			r.rows++
			if v.Identity == last && !v.garbled {
				r.count(first, backend.RowsDropped, v.Type)
				return nil
			}
			last = v.Identity
			m, keep, err := r.judge(&v, id, first)
			if err != nil || !keep {
				return err
			}
			return f(&m.Version)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *reading) count(first bool, code backend.NoteCode, of string) {
	if first && r.counts != nil {
		r.counts.add(code, of)
	}
}

// judge makes a version of a row, or what stands in its place if it cannot be stored; keep is
// false for nothing.
func (r *reading) judge(v *row, id int64, first bool) (m made, keep bool, err error) {
	if !v.intact() {
		return m, false, onto.Errorf(onto.Corrupt, "%s at commit %d: history has it otherwise than it was written", v.Identity, v.commit).
			WithHint("restore a backup of the file, or copy what comes before: --until %d", id-1)
	}
	m = r.types.make(v, id)
	if m.reason == nil {
		if err := r.refer(&m); err != nil {
			return m, false, err
		}
	}
	if m.reason == nil {
		if v.op == onto.Delete && r.setsAside() {
			if lives, err := r.lives(v); err != nil || !lives {
				r.count(first, backend.RowsDropped, v.Type)
				return m, false, err
			}
		}
		if m.rewritten || m.keyed {
			code := backend.RowsRewritten
			if m.keyed {
				code = backend.KeysRewritten
			}
			r.count(first, code, v.Type)
		}
		return m, true, nil
	}
	if !r.setsAside() {
		return m, false, onto.Errorf(onto.Invalid, "%s at commit %d cannot be stored: %w", v.Identity, v.commit, m.reason).
			WithHint("set such rows aside with --rejects FILE")
	}
	r.count(first, backend.RowsRejected, v.Type)
	if first && r.rejects != nil {
		if err := r.rejects.add(v, id, m.reason); err != nil {
			return m, false, err
		}
	}
	if m.SchemaVersion == 0 {
		return m, false, nil
	}
	m.Op, m.Fields = onto.Delete, json.RawMessage("{}")
	keep, err = r.lives(v)
	return m, keep, err
}

// setsAside reports whether rows that cannot be stored are left out. They are counted in any
// case.
func (r *reading) setsAside() bool { return r.rejects != nil || r.counts != nil }

// lives reports whether the copy has the identity of a row before its commit.
func (r *reading) lives(v *row) (bool, error) {
	t := r.f.tables[kindAt(v.Kind)]
	rows, ok, err := r.QueryRowContext(r.ctx, t.before, append(v.args(), v.commit)...)
	if err != nil || !ok {
		return false, err
	}
	before := t.read(rows)
	id, _, err := r.plan.rank(r.ctx, r.Conn, before.commit)
	if err != nil || before.op != onto.Put {
		return false, err
	}
	m := r.types.make(&before, id)
	return m.reason == nil, nil
}

// refer gives commits that fields refer to their ids in the copy: facts say which commit has
// asserted them, and the records of folds, how far they have come.
func (r *reading) refer(m *made) error {
	if !r.plan.gaps || m.Op != onto.Put || m.Kind == onto.KindRelation || m.Kind == onto.KindEntity && m.Type != audit.FoldRecords {
		return nil
	}
	members := codec.Members(m.Fields)
	for i := range members {
		name, value := members[i].Name, &members[i].Value
		var err error
		switch {
		case m.Kind == onto.KindFact && name == onto.FactAsserted, m.Kind == onto.KindEntity && name == "behind":
			*value, err = r.number(*value)
		case m.Kind == onto.KindEntity && name == "progress" && codec.KindOf(*value) == codec.Object:
			progress := codec.Members(*value)
			for j := range progress {
				if progress[j].Name == "upto" && err == nil {
					progress[j].Value, err = r.number(progress[j].Value)
				}
			}
			*value = codec.AppendObject(nil, progress)
		}
		if err != nil {
			return err
		}
	}
	m.Fields = codec.AppendObject(nil, members)
	return nil
}

// number is renumbered for a canonical value.
func (r *reading) number(value []byte) ([]byte, error) {
	was, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		return value, nil // it refers to nothing
	}
	id, err := r.renumbered(was)
	return strconv.AppendInt(nil, cmp.Or(id, was), 10), err
}
