package memory

import (
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// evolved returns the log with other types, for a commit that comes next. The
// log itself stays as it is.
func (l log) evolved(e *backend.Evolution, now time.Time) (log, error) {
	schemas, err := backend.Evolve(l.schemas, e, l.head()+1, now, func(kind onto.Kind, name string) (versions int64) {
		l, versions = l.without(kind, name)
		return versions
	})
	if err != nil {
		return log{}, err
	}
	l.schemas = schemas
	l.turns++
	return l, nil
}

// without returns the log without any version of a type, and how many there
// were. Commits say how many versions they still hold.
func (l log) without(kind onto.Kind, name string) (log, int64) {
	held := len(l.versions)
	l.commits = slices.Clone(l.commits)
	l.versions = slices.DeleteFunc(slices.Clone(l.versions), func(v onto.Version) bool {
		gone := v.Kind == kind && v.Type == name
		if gone {
			l.commits[v.Commit-1].commit.Operations--
		}
		return gone
	})
	return l, int64(held - len(l.versions))
}
