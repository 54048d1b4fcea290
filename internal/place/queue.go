package place

import (
	"os"

	"github.com/ontologia/onto"
)

// stateGroup is the key of a configuration file that has the settings of the work queue
// below it.
const stateGroup = "state"

// envBackend is the variable that chooses what keeps the work queue. Other programs that
// share the queue read it, too.
const envBackend = "DB_BACKEND"

// checkQueueBackend refuses a kind of storage that keeps no work.
func checkQueueBackend(origin, value string) error {
	if value == "sqlite" {
		return nil
	}
	if value == "sqlserver" {
		return onto.Errorf(onto.UnsupportedOperation, "%s: the work queue cannot be in SQL Server", origin).
			WithHint("use sqlite, and name its file with --db or state.db_path; bring the items over with work import")
	}
	return onto.Errorf(onto.Invalid, "%s: %.80q keeps no work queue", origin, value).WithHint("use sqlite")
}

// QueueLocation is where the work queue is: what the strongest layer says that says
// anything, and within a layer state.db_path before the place of the store.
func (cfg Settings) QueueLocation() (Location, error) {
	if value := os.Getenv(envBackend); value != "" {
		if err := checkQueueBackend(envBackend, value); err != nil {
			return Location{}, err
		}
	}
	for _, l := range cfg {
		if path, ok := l.values["state.db_path"]; ok {
			return parsePath(path)
		}
		if found, ok, err := l.location(); ok || err != nil {
			return found, err
		}
	}
	return cfg.Location()
}
