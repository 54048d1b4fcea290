package lake

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
	"github.com/ontologia/onto/backend/lake/protocol"
)

// Callers with much metadata that commit at the same moment become several rounds, so
// that each manifest can be read again.
func TestRoundsHaveRoom(t *testing.T) {
	b := memory.New(nil)
	l, err := Open(t.Context(), unclosed{b}, &Options{Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := &sample{t, b, l}
	_, err = l.Register(t.Context(), &backend.Registration{Schemas: sampleSchemas()})
	s.must(err)
	const callers = 40
	long := append(append([]byte(`{"m":"`), bytes.Repeat([]byte("x"), 900<<10)...), `"}`...)
	l.writer.publishing <- struct{}{} // until all stand in the queue
	var wg sync.WaitGroup
	errs := make([]error, callers)
	for i := range callers {
		wg.Go(func() {
			_, errs[i] = l.Append(t.Context(), &backend.Draft{Header: backend.Header{Metadata: long}, Writes: []backend.Write{entityPut("Person", fmt.Sprint(i), 1, i)}})
		})
	}
	for l.writer.queue.Len() < callers {
		runtime.Gosched()
	}
	<-l.writer.publishing
	wg.Wait()
	for _, err := range errs {
		s.must(err)
	}
	list, err := b.List(t.Context(), "commits/", "", 1000)
	s.must(err)
	rounds := 0
	for _, e := range list {
		if strings.HasSuffix(e.Key, "/manifest.json") {
			if rounds++; e.Size > protocol.MaxDocument/2 {
				t.Errorf("%s has %d bytes", e.Key, e.Size)
			}
		}
	}
	if s.tip().Head.CommitID != callers || rounds < 2 {
		t.Errorf("got %d commits in %d rounds, want %d in several", s.tip().Head.CommitID, rounds, callers)
	}
	if found := checked(t, l); len(found) != 0 {
		t.Errorf("check: %v", found)
	}
}
