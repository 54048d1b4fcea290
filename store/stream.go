package store

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/decide"
	"github.com/ontologia/onto/internal/refusal"
	"github.com/ontologia/onto/internal/spool"
	"github.com/ontologia/onto/store/internal/catalog"
	"github.com/ontologia/onto/store/internal/factstream"
	"github.com/ontologia/onto/store/internal/foldkeep"
	"github.com/ontologia/onto/store/internal/shape"
)

// StreamOptions change how a stream is committed. The zero value is the
// default.
type StreamOptions struct {
	// Admit decides on each thing of the stream, under the write lock. False leaves the
	// thing out; an error leaves nothing stored. A store that loses to another commit
	// calls it for all things again; Begin, if not nil, is called each time before the
	// first.
	Admit func(Proposal) (bool, error)
	Begin func()

	// Imported says that versions of facts come from elsewhere, such as from an export:
	// each is asserted by this commit, with the note of its revocation if it has one. An
	// id that is known already is as in Draft.Assert; one without an id gets one. The
	// facts about one subject are ordered as they were asserted there, by the fields
	// asserted and seq and by their id; those without asserted come last, in the order
	// of the stream.
	Imported bool

	reverts bool // facts are brought back that may have had another name
}

// Proposal is what a stream wants of one identity, and what there is of it.
type Proposal struct {
	Identity onto.Identity
	Op       onto.Op
	Fields   json.RawMessage // what it will have, merged; nil for a delete
	Newest   *onto.Version   // nil if there never was one; it may be a delete
	Changes  bool            // the present state is not what is wanted

	// Lacks is a field without which the identity, which does not exist, cannot be made;
	// "" if there is none. Such a proposal fails the commit, also if it is admitted.
	Lacks string
	err   error // which is about that
}

// Live reports whether the identity exists.
func (p *Proposal) Live() bool { return p.Newest != nil && p.Newest.Live() }

// CommitStream makes a draft and a sequence of further things true as one
// commit, with little memory however long the sequence is. Things are as in
// Draft.Ensure, in any order; onto.Fact values are asserted in the order that they come
// in, onto.Identity values stand for deletes, and onto.Intent
// values for what they say, such as merges. Revocations are refused: they depend on what
// the facts are like, which a stream does not read. The sequence is read to its end before anything is locked, into a temporary file if
// it is long; an error from it leaves nothing stored.
func (s *Store) CommitStream(ctx context.Context, d onto.Draft, things iter.Seq2[any, error]) (onto.Result, error) {
	return s.CommitStreamWith(ctx, d, things, nil)
}

// CommitStreamWith is CommitStream with options.
func (s *Store) CommitStreamWith(ctx context.Context, d onto.Draft, things iter.Seq2[any, error], opts *StreamOptions) (onto.Result, error) {
	types := s.catalog()
	writes := types.Stream(ctx, d, things)
	if opts != nil && opts.Imported {
		writes = types.Imported(ctx, d, things)
	}
	return s.appendStream(ctx, d, types, writes, opts)
}

// appendStream commits a draft without its intents and a sequence of writes that were
// made with a catalog.
func (s *Store) appendStream(ctx context.Context, d onto.Draft, types *catalog.Catalog, writes iter.Seq2[backend.Write, error], opts *StreamOptions) (onto.Result, error) {
	draft, err := s.header(ctx, d)
	if err != nil {
		return onto.Result{}, err
	}
	if opts == nil {
		opts = &StreamOptions{}
	}
	has := &factstream.Facts{}
	filled, err := spool.Fill(ctx, draft, has.Noted(writes), spool.Options{Directory: s.opts.ScratchDir})
	if err != nil {
		return onto.Result{}, err
	}
	defer filled.Close()
	if opts.Admit != nil || has.Written {
		draft.Admit, draft.Begin = s.admission(opts), opts.Begin
	}
	stream := foldkeep.Stream{Spool: filled, Facts: has.Types}
	if opts.Imported && has.Asserted {
		stream.Made = factstream.Ranked
	}
	res, err := s.folds.AppendStream(ctx, stream, draft)
	return s.finish(ctx, types, res, err)
}

// admission decides on the writes of a stream.
func (s *Store) admission(opts *StreamOptions) func(*backend.Write, *onto.Version) (bool, error) {
	return func(w *backend.Write, newest *onto.Version) (bool, error) {
		p := proposal(w, newest)
		p.Lacks = lacks(s.catalog(), w, newest)
		if opts.Admit != nil {
			if admitted, err := opts.Admit(p); err != nil || !admitted {
				return false, err
			}
		}
		if p.Identity.Kind != onto.KindFact {
			return true, nil
		}
		if newest == nil && !w.Once && !opts.reverts {
			return false, refusal.NoFact(p.Identity)
		}
		return p.Changes || w.Once, nil
	}
}

func proposal(w *backend.Write, newest *onto.Version) Proposal {
	return Proposal{Identity: w.Identity, Op: w.Op, Fields: w.Fields, Newest: newest, Changes: changes(w, newest)}
}

// lacks is the field that is missing to make the identity of a write that could not be
// merged; "" if it is for another reason, or was merged.
func lacks(types *catalog.Catalog, w *backend.Write, newest *onto.Version) string {
	if w.Known == nil || w.Op != onto.Put || newest != nil && newest.Live() {
		return ""
	}
	t, err := types.Get(w.Kind, w.Type)
	if err != nil {
		return ""
	}
	return lacksIn(t.Schema.Fields, w.Fields, "")
}

// lacksIn is the path of a field that an object at a path does not have and needs.
func lacksIn(fields []onto.Field, object []byte, path string) string {
	for i := range fields {
		f, at := &fields[i], onto.FieldPath(path, fields[i].Name)
		value := codec.Find(object, []string{f.Name})
		switch {
		case value == nil && !f.Optional && f.Default == nil && f.Compute == nil:
			return at
		case f.Fields != nil && codec.KindOf(value) == codec.Object:
			if lacking := lacksIn(f.Fields, value, at); lacking != "" {
				return lacking
			}
		}
	}
	return ""
}

// changes reports whether a write makes a version, or is refused because there is one.
func changes(w *backend.Write, newest *onto.Version) bool {
	switch {
	case w.Once:
		return newest == nil || !backend.Repeats(w, newest)
	case w.Kind == onto.KindFact && w.Op == onto.Put && newest != nil && newest.Live():
		return !shape.SameFact(&onto.Version{Identity: w.Identity, Fields: w.Fields}, newest)
	}
	return backend.Changes(w, newest)
}

// Preview compares things, as in CommitStream, with one snapshot of the newest state,
// and changes nothing. It yields what a commit would be asked to admit, in order of
// identity. The sequence is read to its end first; versions of facts are taken as
// imported.
func (s *Store) Preview(ctx context.Context, things iter.Seq2[any, error]) iter.Seq2[Proposal, error] {
	return func(yield func(Proposal, error) bool) {
		if err := s.preview(ctx, things, yield); err != nil {
			yield(Proposal{}, err)
		}
	}
}

func (s *Store) preview(ctx context.Context, things iter.Seq2[any, error], yield func(Proposal, error) bool) error {
	head, err := s.Head(ctx)
	if err != nil {
		return err
	}
	types, err := s.relearn(ctx)
	if err != nil {
		return err
	}
	has := &factstream.Facts{}
	filled, err := spool.Fill(ctx, &backend.Draft{}, has.Noted(types.Imported(ctx, onto.Draft{}, things)), spool.Options{Directory: s.opts.ScratchDir})
	if err != nil {
		return err
	}
	defer filled.Close()
	return s.propose(ctx, types, filled, head.ID, yield)
}

// propose compares the writes of a spool, made with a catalog, with the state as of a
// commit.
func (s *Store) propose(ctx context.Context, types *catalog.Catalog, filled *spool.Spool, at int64, yield func(Proposal, error) bool) error {
	verdicts, p := decide.NewCatalog(types.Stored), newPace()
	about := func(w *backend.Write) (onto.TypeName, int) { return w.TypeName(), len(w.Fields) }
	var ids []onto.Identity
	for piece, err := range pieces(filled.Sorted(ctx), p, about) {
		if err != nil {
			return err
		}
		ids = ids[:0]
		for i := range piece {
			ids = append(ids, piece[i].Identity)
		}
		found, err := s.lookUp(ctx, ids, at)
		if err != nil {
			return err
		}
		p.took(len(piece), bytesOf(found))
		for i := range piece {
			newest := found[piece[i].Identity]
			var merged *backend.Write
			merged, err = verdicts.Merged(&piece[i], newest)
			lacking := ""
			if err != nil {
				merged = &piece[i]
				if lacking = lacks(types, merged, newest); lacking == "" {
					return err
				}
			}
			p := proposal(merged, newest)
			if p.Lacks, p.err = lacking, err; !yield(p, nil) {
				return nil
			}
		}
	}
	return nil
}
