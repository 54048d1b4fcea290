// Package mailbox lets one goroutine own the state of a loop: others tell it what to do
// with that state.
package mailbox

import "sync"

// Mailbox holds what other goroutines have to tell a loop.
type Mailbox struct {
	mu     sync.Mutex // guards list
	list   []func()
	signal chan struct{}
}

// New makes an empty mailbox.
func New() *Mailbox { return &Mailbox{signal: make(chan struct{}, 1)} }

// Signal has an element when the loop should look.
func (m *Mailbox) Signal() <-chan struct{} { return m.signal }

// Post adds what the loop is to do.
func (m *Mailbox) Post(f func()) {
	m.mu.Lock()
	m.list = append(m.list, f)
	m.mu.Unlock()
	m.Ring()
}

// Ring makes the loop look.
func (m *Mailbox) Ring() {
	select {
	case m.signal <- struct{}{}:
	default:
	}
}

// Take returns what was posted since, in order.
func (m *Mailbox) Take() []func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.list
	m.list = nil
	return list
}
