package object

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/parallel"
	"github.com/ontologia/onto/store"
)

// PartialError is the error of a write to several shards of which only some have committed.
// Repeating it with the same idempotency key, see [With], finishes it.
type PartialError struct {
	Committed map[string]onto.Result // by the names of shards
	Failed    map[string]error
}

// Error names the shards that have not committed.
func (e *PartialError) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d of %d shards have not committed", len(e.Failed), len(e.Failed)+len(e.Committed))
	for _, name := range sortedKeys(e.Failed) {
		fmt.Fprintf(&text, "; %s: %v", name, e.Failed[name])
	}
	return text.String()
}

// Unwrap returns the errors of the shards.
func (e *PartialError) Unwrap() []error {
	var errs []error
	for _, name := range sortedKeys(e.Failed) {
		errs = append(errs, e.Failed[name])
	}
	return errs
}

// bulk is what an operation writes, by shard.
type bulk struct {
	set    *kind
	tenant string
	parts  []*part
}

// part is what is written to one shard.
type part struct {
	shard  *shard
	ids    []onto.Identity
	things []any // objects to be stored, in the order of ids; nil for deletes
}

// add adds an object, or a delete if it is nil. Nothing is written yet.
func (b *bulk) add(ctx context.Context, shardKey, key string, object any) error {
	s, err := b.set.shard(ctx, b.tenant, shardKey)
	if err != nil {
		return err
	}
	p := b.part(s)
	p.ids = append(p.ids, b.set.id(key))
	if object != nil {
		p.things = append(p.things, object)
	}
	return nil
}

// part returns the part for a shard.
func (b *bulk) part(s *shard) *part {
	for _, p := range b.parts {
		if p.shard == s {
			return p
		}
	}
	p := &part{shard: s}
	b.parts = append(b.parts, p)
	return p
}

// commit commits to each shard, side by side.
func (b *bulk) commit(ctx context.Context, commit func(*part, onto.Draft) (onto.Result, error)) error {
	d, err := header(ctx)
	if err != nil {
		return err
	}
	if len(b.parts) == 1 {
		_, err := commit(b.parts[0], d)
		return b.parts[0].shard.explain(err)
	}
	n := len(b.parts)
	results, errs := make([]onto.Result, n), make([]error, n)
	all := parallel.Do(n+1, n, func(i int) error {
		results[i], errs[i] = commit(b.parts[i], d)
		errs[i] = b.parts[i].shard.explain(errs[i])
		return errs[i]
	})
	if all == nil {
		return nil
	}
	partial := &PartialError{map[string]onto.Result{}, map[string]error{}}
	unknown := false
	for i, p := range b.parts {
		name := p.shard.placement.Name
		if errs[i] == nil {
			partial.Committed[name] = results[i]
			continue
		}
		partial.Failed[name] = errs[i]
		unknown = unknown || onto.CodeOf(errs[i]) == onto.OutcomeUnknown
	}
	if len(partial.Committed) == 0 && !unknown {
		return all // nothing was written
	}
	return partial
}

// put stores the objects of a part. Many are a stream.
func (p *part) put(ctx context.Context, d onto.Draft) (onto.Result, error) {
	if len(p.things) > store.DefaultMaxBatch {
		return p.shard.store.CommitStream(ctx, d, streamed(slices.Values(p.things)))
	}
	return p.shard.store.Commit(ctx, d.Ensure(p.things...))
}

// remove deletes the identities of a part.
func (p *part) remove(ctx context.Context, d onto.Draft) (onto.Result, error) {
	return p.shard.store.CommitStream(ctx, d, streamed(slices.Values(p.ids)))
}

// streamed is a sequence as a stream takes it.
func streamed[V any](values iter.Seq[V]) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		for v := range values {
			if !yield(v, nil) {
				return
			}
		}
	}
}
