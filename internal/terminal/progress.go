package terminal

import (
	"fmt"
	"time"
)

// progressEvery is how often a terminal shows progress.
const progressEvery = 100 * time.Millisecond

// Meter shows how many records a long task has done, on a terminal only, in a line that
// Done removes. It is nil where there is no terminal.
type Meter struct {
	err   *Output
	what  string
	share func() (part, whole int64) // of the work; nil if that is not known
	now   func() time.Time
	last  time.Time
}

// Report returns what to call with how much is done, or nil.
func (m *Meter) Report() func(records, bytes int64) {
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

func (m *Meter) line(records, bytes int64) string {
	text := fmt.Sprintf("%s: %s, %s", m.what, Count(records, "record", "records"), Bytes(bytes))
	if m.share != nil {
		if part, whole := m.share(); whole > 0 {
			text += fmt.Sprintf(", %d%%", min(100, part*100/whole))
		}
	}
	return text
}

// Done removes the line.
func (m *Meter) Done() {
	if m != nil {
		m.show("")
	}
}

func (m *Meter) show(text string) {
	const clear = "\r\x1b[K"
	_, _ = m.err.WriteString(clear + text)
	_ = m.err.Flush()
}
