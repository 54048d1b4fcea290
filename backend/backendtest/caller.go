package backendtest

import (
	"context"
	"iter"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/spool"
)

// caller calls a backend as a store does: drafts have their digest, and streams are
// in order.
type caller struct{ backend.Backend }

// called opens a backend for callers.
func (t Target) called() Target {
	open := t.Open
	t.Open = func(t testing.TB, p *Place) backend.Backend { return caller{open(t, p)} }
	if fault := t.Fault; fault != nil {
		t.Fault = func(t testing.TB, b backend.Backend, point string, err error) {
			fault(t, b.(caller).Backend, point, err)
		}
	}
	return t
}

func (c caller) Unwrap() backend.Backend { return c.Backend }

func (c caller) Append(ctx context.Context, d *backend.Draft) (onto.Result, error) {
	if d.IdempotencyKey == "" {
		return c.Backend.Append(ctx, d)
	}
	digested := *d
	digested.Digest = backend.DigestOf(d)
	return c.Backend.Append(ctx, &digested)
}

func (c caller) AppendStream(ctx context.Context, d *backend.Draft, writes iter.Seq2[backend.Write, error]) (onto.Result, error) {
	return spool.Append(ctx, c.Backend, d, writes, spool.Options{})
}

// port is the backend behind the story's handle.
func (s *story) port() backend.Backend { return s.Backend.(caller).Backend }
