package main

import (
	"fmt"
	"io"
	"time"
)

// progressEvery is how often a terminal is shown how far a task is.
const progressEvery = 100 * time.Millisecond

// meter shows how many records a long task has done, on a terminal only, in a
// line that done takes away again. It is nil where there is no terminal.
type meter struct {
	c     *command
	what  string
	share func() (part, whole int64) // of the work; nil if that is not known
	now   func() time.Time
	last  time.Time
}

// meter starts one.
func (c *command) meter(what string, share func() (part, whole int64)) *meter {
	if !c.err.terminal {
		return nil
	}
	return &meter{c: c, what: what, share: share, now: time.Now}
}

// report returns what to call with how much is done, or nil.
func (m *meter) report() func(records, bytes int64) {
	if m == nil {
		return nil
	}
	return func(records, bytes int64) {
		if now := m.now(); now.Sub(m.last) >= progressEvery {
			m.last = now
			m.show(m.line(records, bytes))
		}
	}
}

func (m *meter) line(records, bytes int64) string {
	text := fmt.Sprintf("%s: %s, %s", m.what, count(records, "record", "records"), showBytes(bytes))
	if m.share != nil {
		if part, whole := m.share(); whole > 0 {
			text += fmt.Sprintf(", %d%%", min(100, part*100/whole))
		}
	}
	return text
}

func (m *meter) done() {
	if m != nil {
		m.show("")
	}
}

func (m *meter) show(text string) {
	const clear = "\r\x1b[K"
	_, _ = m.c.err.WriteString(clear + text)
	_ = m.c.err.Flush()
}

// countingReader counts what is read.
type countingReader struct {
	r io.Reader
	n int64
}

// Read reads on.
func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
