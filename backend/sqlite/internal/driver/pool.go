package driver

import (
	"sync"

	"github.com/ontologia/onto"
)

// Pool keeps idle readers.
type Pool struct {
	Dial func() (*Conn, error) // opens a new one

	mu     sync.Mutex // guards what follows
	idle   []*Conn
	closed bool
}

// maxIdle is how many readers wait for the next read.
const maxIdle = 8

// Get returns an idle reader or a new one. The number of readers is not limited: with a
// limit, nested reads could deadlock.
func (p *Pool) Get() (*Conn, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, onto.Errorf(onto.Closed, "the store was closed")
	}
	var c *Conn
	if n := len(p.idle); n > 0 {
		c = p.idle[n-1]
		p.idle = p.idle[:n-1]
	}
	p.mu.Unlock()
	if c != nil && c.IsStale() {
		c.Close()
		c = nil
	}
	if c != nil {
		return c, nil
	}
	return p.Dial()
}

// Put returns a reader.
func (p *Pool) Put(c *Conn) {
	p.mu.Lock()
	keep := !p.closed && len(p.idle) < maxIdle
	if keep {
		p.idle = append(p.idle, c)
	}
	p.mu.Unlock()
	if !keep {
		c.Close()
	}
}

// Close closes the idle readers. Those in use are closed when they are returned.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, c := range idle {
		c.Close()
	}
}
