package duck

import (
	"context"
	"errors"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/sqlgen"
)

// endless takes longer than any test.
const endless = "SELECT count(*) FROM range(1000000000) a, range(1000000000) b WHERE (a.range * b.range) % 7 = 3"

// TestInterrupt ends the context, and the engine, while DuckDB computes.
func TestInterrupt(t *testing.T) {
	ask := func(ctx context.Context, e *Engine, started chan<- struct{}) error {
		return e.use(ctx, func(c *conn) error {
			close(started)
			return c.each(ctx, sqlgen.Part{SQL: endless}, func(*rows) error { return nil })
		})
	}
	e := openIn(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	started := make(chan struct{})
	go func() { <-started; cancel() }()
	if err := ask(ctx, e, started); !errors.Is(err, context.Canceled) {
		t.Errorf("the context ended: got %v", err)
	}
	started, closed := make(chan struct{}), make(chan error)
	go func() { <-started; closed <- e.Close() }()
	if err := ask(t.Context(), e, started); !errors.Is(err, onto.Closed) {
		t.Errorf("the engine was closed: got %v", err)
	}
	if err := <-closed; err != nil {
		t.Errorf("close: %v", err)
	}
}
