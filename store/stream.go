package store

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/decide"
	"github.com/ontologia/onto/internal/spool"
	"github.com/ontologia/onto/store/internal/catalog"
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
}

// Proposal is what a stream wants of one identity, and what there is of it.
type Proposal struct {
	Identity onto.Identity
	Op       onto.Op
	Fields   json.RawMessage // what it will have, merged; nil for a delete
	Newest   *onto.Version   // nil if there never was one; it may be a delete
	Changes  bool            // the present state is not what is wanted
}

// Live reports whether the identity exists.
func (p *Proposal) Live() bool { return p.Newest != nil && p.Newest.Live() }

// CommitStream makes a draft and a sequence of further things true as one
// commit, with little memory however long the sequence is. Things are as in
// Draft.Ensure, in any order; onto.Identity values stand for deletes, and onto.Intent
// values for what they say, such as merges. The sequence is read to its end before anything is locked, into a temporary file if
// it is long; an error from it leaves nothing stored.
func (s *Store) CommitStream(ctx context.Context, d onto.Draft, things iter.Seq2[any, error]) (onto.Result, error) {
	return s.CommitStreamWith(ctx, d, things, nil)
}

// CommitStreamWith is CommitStream with options.
func (s *Store) CommitStreamWith(ctx context.Context, d onto.Draft, things iter.Seq2[any, error], opts *StreamOptions) (onto.Result, error) {
	types := s.catalog()
	return s.appendStream(ctx, d, types, types.Stream(d, things), opts)
}

// appendStream commits a draft without its intents and a sequence of writes that were
// made with a catalog.
func (s *Store) appendStream(ctx context.Context, d onto.Draft, types *catalog.Catalog, writes iter.Seq2[backend.Write, error], opts *StreamOptions) (onto.Result, error) {
	draft, err := s.header(d)
	if err != nil {
		return onto.Result{}, err
	}
	if opts != nil && opts.Admit != nil {
		draft.Admit = func(w *backend.Write, newest *onto.Version) (bool, error) {
			return opts.Admit(proposal(w, newest))
		}
		draft.Begin = opts.Begin
	}
	res, err := spool.Append(ctx, s.b, draft, writes, spool.Options{Directory: s.opts.ScratchDir})
	return s.finish(ctx, types, res, err)
}

func proposal(w *backend.Write, newest *onto.Version) Proposal {
	return Proposal{w.Identity, w.Op, w.Fields, newest, backend.Changes(w, newest)}
}

// Preview compares things, as in CommitStream, with one snapshot of the newest state,
// and changes nothing. Things are checked as for a commit, except that an identity may
// come twice.
func (s *Store) Preview(ctx context.Context, things iter.Seq2[any, error]) iter.Seq2[Proposal, error] {
	return func(yield func(Proposal, error) bool) {
		head, err := s.Head(ctx)
		var types *catalog.Catalog
		if err == nil {
			types, err = s.relearn(ctx)
		}
		if err != nil {
			yield(Proposal{}, err)
			return
		}
		verdicts := decide.NewCatalog(types.Stored)
		for w, err := range types.Stream(onto.Draft{}, things) {
			var p Proposal
			if err == nil {
				p, err = s.compare(ctx, verdicts, &w, head.ID)
			}
			if !yield(p, err) || err != nil {
				return
			}
		}
	}
}

// compare compares a write, merged, with the state as of a commit.
func (s *Store) compare(ctx context.Context, types *decide.Catalog, w *backend.Write, at int64) (Proposal, error) {
	var newest *onto.Version
	v, err := s.b.Get(ctx, w.Identity, at)
	switch {
	case err == nil:
		newest = &v
	case onto.CodeOf(err) != onto.NotFound:
		return Proposal{}, err
	}
	merged, err := types.Merged(w, newest)
	if err != nil {
		return Proposal{}, err
	}
	return proposal(merged, newest), nil
}
