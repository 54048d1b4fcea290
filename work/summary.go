package work

import (
	"encoding/json"
	"maps"
	"time"
)

// The states of runs.
const (
	RunRunning  = "running"
	RunFinished = "finished" // nothing was left to do
	RunStopped  = "stopped"  // by its context, MaxItems or MaxWait
	RunFailed   = "failed"
)

// Summary is the figures of a run. Those of a run that was resumed count from its start.
type Summary struct {
	Run      string    `json:"run"`
	Status   string    `json:"status"`
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished,omitzero"`
	Active   int       `json:"active"` // attempts that run now
	Counts
	Sources map[string]Counts `json:"sources,omitempty"` // by name
}

// Counts are numbers of what happened.
type Counts struct {
	Completed   int64 `json:"completed"`
	NotModified int64 `json:"not_modified"` // of those completed
	Failed      int64 `json:"failed"`
	Skipped     int64 `json:"skipped"`
	Retried     int64 `json:"retried"`
	Returned    int64 `json:"returned"`
	Lost        int64 `json:"lost"`       // attempts of this run whose lease was lost
	Recovered   int64 `json:"recovered"`  // lost attempts, of any run, that this one closed
	Discovered  int64 `json:"discovered"` // new items
	Known       int64 `json:"known"`      // items that were discovered, and known before
	Bytes       int64 `json:"bytes"`      // that were fetched
}

// add counts the end of an attempt.
func (s *Summary) add(j *job, fresh, known int) {
	c := s.Sources[j.item.Source]
	for _, c := range []*Counts{&s.Counts, &c} {
		c.Discovered += int64(fresh)
		c.Known += int64(known)
		c.Bytes += int64(j.did.bytes)
		switch j.end.what {
		case Completed:
			c.Completed++
			if j.did.notModified {
				c.NotModified++
			}
		case Failed:
			c.Failed++
		case Skipped:
			c.Skipped++
		case Retried:
			c.Retried++
		case Returned:
			c.Returned++
		case Lost, Abandoned:
			c.Lost++
		}
	}
	s.Sources[j.item.Source] = c
}

// clone is a copy that nothing changes.
func (s *Summary) clone() Summary {
	c := *s
	c.Sources = maps.Clone(s.Sources)
	return c
}

// figures are what is kept of a run.
type figures struct {
	Counts
	Sources map[string]Counts `json:"sources,omitempty"`
}

func (s *Summary) figures() (json.RawMessage, error) {
	return json.Marshal(figures{s.Counts, s.Sources})
}

// resume goes on counting. Figures of an imported run may be others, which count nothing.
func (s *Summary) resume(kept json.RawMessage) {
	var f figures
	if json.Unmarshal(kept, &f) == nil {
		s.Counts = f.Counts
		maps.Copy(s.Sources, f.Sources)
	}
}
