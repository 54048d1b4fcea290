package backendtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/internal/effort"
)

// runHistories applies random operations to the backend and to the reference
// until there were enough.
func runHistories(t *testing.T, target Target) {
	want := effort.Count(t, cmp.Or(target.Operations, 10_000))
	dir := t.TempDir()
	counts := tally{}
	effort.CheckUntil(t, func() bool { return counts.operations >= want }, func(rt *rapid.T) {
		h := newHistory(t, rt, target, newPlace(t, dir))
		defer h.end()
		h.counts = &counts
		for i, s := range plans().Draw(rt, "plan") {
			h.take(i, s)
		}
		h.inquiries = rapid.SliceOfN(rapid.Custom(drawInquiry), 6, 12).Draw(rt, "inquiries")
		h.compare()
	})
	t.Logf("%d operations in %d histories made %d commits and %d evolutions; %d questions were answered alike",
		counts.operations, counts.histories, counts.commits, counts.evolutions, counts.questions)
}

// tally counts what random histories did.
type tally struct{ histories, operations, evolutions, commits, questions int }

// history runs one random history.
type history struct {
	*rapid.T
	outer  *testing.T
	target Target
	place  *Place
	counts *tally

	reference caller
	handles   [2]backend.Backend // both on the store under test
	sent      []sending
	inquiries []inquiry // what is asked at the end
}

// sending is a draft as it was sent.
type sending struct {
	draft  *backend.Draft
	stream bool
	writes []backend.Write // of the stream
	end    error           // of the stream
	breaks bool            // the stream must have no second reason to fail
}

func newHistory(t *testing.T, rt *rapid.T, target Target, p *Place) *history {
	h := &history{T: rt, outer: t, target: target, place: p}
	h.reference = caller{memory.New(&memory.Options{Now: p.Now}).Open()}
	for i := range h.handles {
		h.handles[i] = target.Open(t, p)
	}
	h.register(h.handles[0], testSchemas())
	return h
}

// end closes what is open and removes the place.
func (h *history) end() {
	for _, b := range h.handles {
		if err := b.Close(); err != nil && !errors.Is(err, onto.Closed) {
			h.Errorf("close: %v", err)
		}
	}
	discard(h.outer, h.place)
}

// take takes a step on both sides and compares the outcomes.
func (h *history) take(i int, s step) {
	h.counts.operations++
	h.place.clock.move(s.Clock)
	b := h.handles[s.Handle]
	var got, want string
	switch s.Do {
	case look:
		got, want = h.both(b, func(ctx context.Context, b backend.Backend) string {
			c, err := b.Resolve(ctx, onto.Point{})
			return outcome(showCommit(c), err) + "\n" + showTypes(ctx, b)
		})
	case reopen:
		h.reopen(s.Handle)
	case restart:
		h.reopen(0, 1)
	case register:
		given := append(registrations(), h.comeback(), h.comeback(), h.comeback())
		got, want = h.register(b, given[s.Which%len(given)])
	case ask:
		at := int64(s.Which) % (h.head() + 2)
		if at > h.head() || s.Which%3 == 0 {
			at = backend.Head
		}
		got, want = h.inquire(b, s.Ask, at)
	default:
		got, want = h.append(b, s)
	}
	if got != want {
		h.Fatalf("step %d: %s\n got: %s\nwant: %s", i, s, got, want)
	}
	if b != nil {
		h.askLives(i)
	}
}

// reopen closes handles before it opens any of them again.
func (h *history) reopen(handles ...int) {
	for _, i := range handles {
		if err := h.handles[i].Close(); err != nil {
			h.Fatalf("close: %v", err)
		}
	}
	for _, i := range handles {
		h.handles[i] = h.target.Open(h.outer, h.place)
	}
}

// both asks the backend and the reference, or only the reference if there is no backend.
func (h *history) both(b backend.Backend, ask func(context.Context, backend.Backend) string) (got, want string) {
	if b == nil {
		want = ask(h.Context(), h.reference)
		return want, want
	}
	return ask(h.Context(), b), ask(h.Context(), h.reference)
}

func (h *history) register(b backend.Backend, schemas []onto.Schema) (got, want string) {
	return h.both(b, func(ctx context.Context, b backend.Backend) string {
		list, err := b.Register(ctx, &backend.Registration{Schemas: schemas, Runtime: "test", Reason: "initial"})
		var text string
		for _, v := range list {
			text += showSchema(v) + "\n"
		}
		return outcome(text, err)
	})
}

// append sends the draft of a step, or an earlier one.
func (h *history) append(b backend.Backend, s step) (got, want string) {
	var d sending
	switch {
	case s.Do == evolve:
		d = h.evolution(s)
	case s.Do != repeat:
		d = h.prepare(s)
		h.sent = append(h.sent, d)
	case len(h.sent) > 0:
		d = h.sent[s.Which%len(h.sent)]
	}
	once := func(w backend.Write) bool { return w.Once }
	if d.draft == nil || (d.breaks || slices.ContainsFunc(d.writes, once)) && slices.ContainsFunc(d.writes, func(w backend.Write) bool { return !h.current(w) }) {
		return "", "" // nothing to repeat, or a stream with a second reason to fail by now
	}
	digest := backend.DigestOf(d.draft)
	got, want = h.both(b, func(ctx context.Context, b backend.Backend) string {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if s.Do == giveUp {
			cancel()
		}
		r, err := d.send(ctx, b)
		if s.Do == evolve && b == h.reference && err == nil && (r.Changed() || d.draft.IdempotencyKey == "") {
			h.sent = append(h.sent, d) // others could fail for several reasons when they are repeated
			h.counts.evolutions++
		}
		return outcome(fmt.Sprintf("%s, repeated %v, holds at %d", showCommit(r.Commit), r.Repeated, r.At), err)
	})
	if backend.DigestOf(d.draft) != digest {
		h.Fatalf("%s: the draft was changed", s)
	}
	return got, want
}

// head implements [present].
func (h *history) head() int64 {
	c, err := h.reference.Resolve(h.Context(), onto.Point{})
	if err != nil {
		h.Fatal(err)
	}
	return c.ID
}

// newest implements [present].
func (h *history) newest(id onto.Identity) onto.Version {
	v, err := h.reference.Get(h.Context(), id, backend.Head)
	if err != nil && !errors.Is(err, onto.NotFound) {
		h.Fatal(err)
	}
	return v
}

// prepare makes the draft of a step, with expectations of the present state.
func (h *history) prepare(s step) sending {
	d := sending{stream: s.Do == appendStream}
	d.draft = s.draft(h)
	d.draft.Admit = admissions()[s.Admit]
	if !d.stream {
		return d
	}
	d.writes, d.draft.Writes = d.draft.Writes, nil
	slices.Reverse(d.writes)
	if slices.ContainsFunc(d.writes, func(w backend.Write) bool { return !h.current(w) }) {
		s.Break, s.Clash = false, false
	}
	d.breaks = s.Break || s.Clash
	if d.breaks {
		d.writes = anyhow(d.writes)
	}
	if s.Break {
		d.end = errBroken
	}
	if s.Twice || s.Clash {
		w := d.writes[0]
		if s.Clash {
			w = stamped(putValue(w.Identity, `"another"`), w.SchemaVersion)
		}
		d.writes = append(d.writes, w)
	}
	return d
}

// anyhow returns the writes as such that are not refused for what is there.
func anyhow(writes []backend.Write) []backend.Write {
	for i := range writes {
		writes[i].Once, writes[i].Known = false, nil
	}
	return writes
}

func (d sending) send(ctx context.Context, b backend.Backend) (onto.Result, error) {
	if sorted, err := backend.SortWrites(slices.Clone(d.writes)); err == nil && d.onlyBreaks() {
		return b.(caller).Backend.AppendStream(ctx, d.draft, sequence(sorted, d.end)) // it breaks while the backend reads it
	}
	if d.stream {
		return b.AppendStream(ctx, d.draft, sequence(d.writes, d.end))
	}
	return b.Append(ctx, d.draft)
}

// onlyBreaks reports whether the stream breaks and has no second reason to fail.
func (d sending) onlyBreaks() bool {
	return d.end != nil && d.draft.IdempotencyKey == "" && len(d.draft.Expect)+len(d.draft.Fence) == 0 && d.draft.Causation == 0 && d.draft.Admit == nil
}

// errBroken is the error of a stream that breaks.
var errBroken = errors.New("the source broke")

// outcome formats an answer or its error. Messages are not compared.
func outcome(answer string, err error) string {
	switch code := onto.CodeOf(err); {
	case err == nil:
		return answer
	case err == errBroken:
		return "the error of the stream"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case code != "":
		return "error " + string(code)
	}
	return "error without a code: " + err.Error()
}
