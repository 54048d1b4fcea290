package fold

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/store/internal/shape"
)

// Entry is a fact in its place, with the header of the draft that asserted it.
type Entry struct {
	Fact  onto.Fact
	Draft onto.Draft
}

// New is the place of facts whose commit has no id yet: after all others.
const New int64 = 1<<63 - 1

// Sort brings facts into the order in which they are folded: by the commit that asserted
// them, their place in it, and their id.
func Sort(entries []Entry) {
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Fact.Asserted, b.Fact.Asserted), cmp.Compare(a.Fact.Seq, b.Fact.Seq),
			strings.Compare(a.Fact.ID, b.Fact.ID), strings.Compare(a.Fact.Attribute, b.Fact.Attribute))
	})
}

// HeaderOf is the header of the draft that made a commit.
func HeaderOf(c *onto.Commit) onto.Draft {
	return onto.Draft{
		Actor: c.Actor, Causation: c.Causation, Correlation: c.Correlation, Signature: c.Signature,
		Comment: c.Comment, Metadata: c.Metadata, IdempotencyKey: c.IdempotencyKey,
	}
}

// Input is a state, and the facts to be applied to it.
type Input struct {
	Type    *shape.Type   // of the states
	Subject string        // the key of the state
	Base    *onto.Version // the state so far; nil for none
	Entries []Entry       // in order
}

// Run applies facts to a state and returns the write of what it becomes. No fact may take
// longer than about the timeout. A function that does is abandoned: Go cannot stop it.
func (f *Fold) Run(ctx context.Context, timeout time.Duration, in *Input) (backend.Write, error) {
	type outcome struct {
		w   backend.Write
		err error
	}
	r := &run{f: f, in: in}
	done := make(chan outcome, 1)
	limited, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		w, err := r.whole(limited)
		done <- outcome{w, err}
	}()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for seen := int64(-1); ; {
		select {
		case o := <-done:
			return o.w, o.err
		case <-ctx.Done():
			return backend.Write{}, ctx.Err()
		case <-timer.C:
			at := r.at.Load()
			if at == seen || at == 0 {
				return backend.Write{}, f.failed(in, at, fmt.Errorf("it did not end within %v", timeout))
			}
			seen = at
			timer.Reset(timeout)
		}
	}
}

// run is one run of a fold.
type run struct {
	f  *Fold
	in *Input
	at atomic.Int64 // the entry that is being applied
}

func (r *run) whole(ctx context.Context) (w backend.Write, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = r.f.failed(r.in, r.at.Load(), fmt.Errorf("it panicked: %v", p))
		}
	}()
	id := onto.EntityID(r.f.State, r.in.Subject)
	meta := Meta{Version: r.f.Version}
	m, base := r.f.New(), r.in.Base
	if base != nil {
		was := MetaOf(base)
		meta.Applied, meta.Ends = was.Applied, was.Ends
	} else {
		fields, err := r.in.Type.KeyFields(id)
		if err != nil {
			return w, r.f.failed(r.in, 0, err)
		}
		base = &onto.Version{Identity: id, Op: onto.Put, Fields: fields}
	}
	if err := m.Start(r.in.Type, base); err != nil {
		return w, err
	}
	ends := ""
	for i := range r.in.Entries {
		r.at.Store(int64(i))
		e := &r.in.Entries[i]
		seen := e.Fact
		seen.Asserted, seen.Commit, seen.Seq = 0, 0, 0 // a replay elsewhere may have others
		if err := m.Apply(ctx, seen, e.Draft); err != nil {
			return w, r.f.failed(r.in, int64(i), err)
		}
		if e.Fact.Revoked != nil {
			ends += ending(&e.Fact)
		}
		meta.Applied++
		meta.Last = e.Fact.Attribute + "/" + e.Fact.ID
	}
	if ends != "" {
		sum := sha256.Sum256([]byte(ends))
		meta.Ends = hex.EncodeToString(sum[:8])
	}
	if w, err = m.Write(r.in.Type, id); err != nil {
		return w, onto.Errorf(onto.Invalid, "fold %s makes of the facts about %q what its type refuses: %w", r.f.Name, r.in.Subject, err)
	}
	if w.Identity != id {
		return w, onto.Errorf(onto.Invalid, "fold %s makes %s of the facts about %q", r.f.Name, w.Identity, r.in.Subject).
			WithHint("the key of a state is its subject: leave it alone")
	}
	return meta.into(w, r.in.Type), nil
}

// ending says how a fact ends, so that the state changes whenever a fact is revoked.
func ending(f *onto.Fact) string {
	note, _ := codec.AppendValue(nil, reflect.ValueOf(f.Revoked)) // was read from JSON
	return f.Ref() + " " + codec.FormatTime(f.Until) + " " + string(note) + "\n"
}

// failed is the error of a fact that a fold could not be applied to.
func (f *Fold) failed(in *Input, at int64, err error) error {
	code := onto.CodeOf(err)
	if code == "" {
		code = onto.Invalid
	}
	if at >= int64(len(in.Entries)) {
		return onto.Errorf(code, "fold %s, subject %q: %w", f.Name, in.Subject, err)
	}
	return onto.Errorf(code, "fold %s, fact %s: %w", f.Name, in.Entries[at].Fact.Identity(), err).
		WithHint("nothing was written: mend the fold, or the fact")
}

// Meta says what a state was folded from.
type Meta struct {
	Version int    `json:"version"`        // of the fold
	Applied int64  `json:"applied"`        // how many facts
	Last    string `json:"last"`           // attribute and id of the last of them
	Ends    string `json:"ends,omitempty"` // a digest of how facts were revoked; "" if none was
}

// MetaOf reads what a state was folded from; zero if it does not say.
func MetaOf(v *onto.Version) Meta {
	var m Meta
	if text := codec.Find(v.Fields, []string{Field}); text != nil {
		_ = codec.Decode(text, &m) // zero stands for a state to be folded anew
	}
	return m
}

// into adds the meta to the write of a state, as derived.
func (m Meta) into(w backend.Write, t *shape.Type) backend.Write {
	text := strconv.AppendInt([]byte(`{"applied":`), m.Applied, 10)
	if m.Ends != "" {
		text = append(append(append(text, `,"ends":"`...), m.Ends...), '"')
	}
	text, _ = codec.AppendString(append(text, `,"last":`...), m.Last) // keys are checked
	text = append(strconv.AppendInt(append(text, `,"version":`...), int64(m.Version), 10), '}')
	w.Fields = codec.AppendObject(nil, shape.Insert(codec.Members(w.Fields), codec.Member{Name: Field, Value: text}))
	w.Derived = true
	if w.Known != nil {
		w.Known = w.Known.With(backend.KnownField{Name: Field})
	}
	if w.Known.Covers(t.Schema.Fields) {
		w.Known = nil
	}
	return w
}
