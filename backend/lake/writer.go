package lake

import (
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/groupcommit"
)

// writer groups the callers of one process and publishes their drafts.
type writer struct {
	*Backend
	queue      *groupcommit.Queue[*member] // of callers that want to write
	publishing exclusive                   // guards recent and keys: held by the group or stream that is being published

	recent *recent
	keys   *protocol.Keyring
}

func newWriter(b *Backend) *writer {
	w := &writer{Backend: b, publishing: make(exclusive, 1), recent: newRecent()}
	w.queue = groupcommit.New(groupBounds(), w.leadGroup)
	return w
}
