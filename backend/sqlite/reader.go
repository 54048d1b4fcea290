package sqlite

import (
	"context"
	"sync"

	"github.com/ontologia/onto"
)

// reader reads a store.
type reader struct {
	*store
	readers pool
	catchUp func(ctx context.Context) error // brings the projection up to the head, if it can
}

// dial opens a connection for the pool.
func (rd *reader) dial() (*conn, error) {
	if rd.opts.ReadOnly {
		return rd.at.dialReadOnly()
	}
	if err := rd.at.sameFile(); err != nil {
		return nil, err
	}
	c, err := dial(rd.at.file, accessWrite, busyReader)
	if err != nil {
		return nil, err
	}
	if err := c.script(`PRAGMA query_only = ON; PRAGMA cache_size = -65536`); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// pool keeps idle readers.
type pool struct {
	dial func() (*conn, error)

	mu     sync.Mutex // guards what follows
	idle   []*conn
	closed bool
}

// maxIdle is how many readers wait for the next read.
const maxIdle = 8

// get returns an idle reader or a new one. The number of readers is not
// limited: a limit would let nested reads wait for each other for ever.
func (p *pool) get() (*conn, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, onto.Errorf(onto.Closed, "the store was closed")
	}
	var c *conn
	if n := len(p.idle); n > 0 {
		c = p.idle[n-1]
		p.idle = p.idle[:n-1]
	}
	p.mu.Unlock()
	if c != nil && c.isStale() {
		c.close()
		c = nil
	}
	if c != nil {
		return c, nil
	}
	return p.dial()
}

func (p *pool) put(c *conn) {
	p.mu.Lock()
	keep := !p.closed && len(p.idle) < maxIdle
	if keep {
		p.idle = append(p.idle, c)
	}
	p.mu.Unlock()
	if !keep {
		c.close()
	}
}

func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, c := range idle {
		c.close()
	}
}
