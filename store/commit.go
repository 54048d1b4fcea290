package store

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/emission"
	"github.com/ontologia/onto/store/internal/catalog"
	"github.com/ontologia/onto/store/internal/fold"
	"github.com/ontologia/onto/store/internal/foldkeep"
)

// Commit makes a draft true as one commit. If everything is so already, no
// commit is made and the result's ID is 0; its At views a state in which the draft
// is true either way. After an error nothing of the draft is stored, except that
// OutcomeUnknown says it may be.
func (s *Store) Commit(ctx context.Context, d onto.Draft) (onto.Result, error) {
	types := s.catalog()
	draft, err := s.draft(ctx, types, d)
	if err != nil {
		return onto.Result{}, err
	}
	if draft.IdempotencyKey != "" {
		draft.Digest = backend.DigestOf(draft)
	}
	if foldkeep.HasFacts(draft) {
		return s.commitFacts(ctx, types, draft)
	}
	res, err := s.b.Append(ctx, draft)
	return s.finish(ctx, types, res, err)
}

// draft is the backend's form of a draft, without its digest, made with a catalog.
func (s *Store) draft(ctx context.Context, types *catalog.Catalog, d onto.Draft) (*backend.Draft, error) {
	return s.drafted(ctx, types.Drafting(d.IdempotencyKey), d)
}

// drafted is draft for the first part of a draft.
func (s *Store) drafted(ctx context.Context, made *catalog.Drafting, d onto.Draft) (*backend.Draft, error) {
	draft, err := s.header(ctx, d)
	if err != nil {
		return nil, err
	}
	for w, err := range made.Stream(ctx, d, nil) {
		if err != nil {
			return nil, err
		}
		if len(draft.Writes) == s.opts.MaxBatch {
			return nil, s.tooMany()
		}
		draft.Writes = append(draft.Writes, w)
	}
	draft.Writes, err = backend.SortWrites(draft.Writes)
	return draft, err
}

// tooMany is the error for a draft with too many intents.
func (s *Store) tooMany() *onto.Error {
	return onto.Errorf(onto.TooLarge, "the draft has more than %d intents", s.opts.MaxBatch).
		WithHint("use CommitStream, or split the draft")
}

// emit adds events to a draft.
func (s *Store) emit(draft *backend.Draft, things []any) error {
	rules := emission.Rules{Namespace: s.opts.Namespace, MaxDepth: s.opts.MaxChainDepth}
	events, err := rules.Events(things)
	if err != nil {
		return err
	}
	draft.Events = append(draft.Events, events...)
	if n := len(draft.Events); n > s.opts.MaxBatch {
		return onto.Errorf(onto.TooLarge, "the draft has %d events, the limit is %d", n, s.opts.MaxBatch)
	}
	return nil
}

// header is the backend's form of everything but the intents.
func (s *Store) header(ctx context.Context, d onto.Draft) (*backend.Draft, error) {
	if err := d.Check(); err != nil {
		return nil, err
	}
	if err := s.checkLease(ctx, d.Lease); err != nil {
		return nil, err
	}
	expect, fence := d.Expectations(), d.Fences()
	for _, e := range slices.Concat(expect, fence) {
		if e.Head {
			continue
		}
		t, err := s.catalog().Get(e.Identity.Kind, e.Identity.Type)
		if err == nil {
			err = t.CheckIdentity(e.Identity)
		}
		if err != nil {
			return nil, err
		}
	}
	draft := &backend.Draft{
		Header: backend.Header{
			Runtime: s.opts.Runtime, Actor: d.Actor, Causation: d.Causation, Correlation: d.Correlation,
			Signature: d.Signature, Comment: d.Comment, IdempotencyKey: d.IdempotencyKey,
		},
		Expect: expect, Fence: fence, Lease: d.Lease, Acks: d.Acks, Advance: d.Advance,
	}
	if err := s.emit(draft, d.Emitted()); err != nil {
		return nil, err
	}
	if _, taken := d.Metadata[fold.Rebuild]; taken {
		return nil, onto.Errorf(onto.Invalid, "metadata: the name %s is the store's own", fold.Rebuild)
	}
	if len(d.Metadata) > 0 {
		text, err := codec.AppendValue(nil, reflect.ValueOf(d.Metadata))
		if err != nil {
			return nil, onto.Errorf(onto.Invalid, "metadata: %w", err)
		}
		if len(text) > onto.MaxMetadata {
			return nil, onto.Errorf(onto.TooLarge, "metadata is %d bytes of JSON, the limit is %d", len(text), onto.MaxMetadata)
		}
		draft.Metadata = text
	}
	return draft, nil
}

// finish notes the head, and explains how types differ from those that writes were made
// with.
func (s *Store) finish(ctx context.Context, types *catalog.Catalog, res onto.Result, err error) (onto.Result, error) {
	if err == nil {
		s.seen(res.At)
		return res, nil
	}
	var e *onto.Error
	if errors.As(err, &e) && e.Code == onto.SchemaOutdated && e.Differences == nil {
		explained := *e
		types.Explain(ctx, s.b, &explained)
		err = &explained
		_, _ = s.relearn(ctx) // so that types known by name are up to date the next time
	}
	return onto.Result{}, err
}

// seen notes that a commit exists.
func (s *Store) seen(id int64) {
	for {
		known := s.head.Load()
		if id <= known || s.head.CompareAndSwap(known, id) {
			return
		}
	}
}
