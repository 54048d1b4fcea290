package memory

import (
	"fmt"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// Of a transient lease that has ended nothing stays.
func TestTransientLeasesLeaveNothing(t *testing.T) {
	s := New(nil)
	b := s.Open()
	for i := range 10 {
		l, err := b.Acquire(t.Context(), &backend.LeaseRequest{Name: fmt.Sprint("object.", i), Owner: "ana", TTL: time.Minute})
		if err == nil && i%2 == 0 {
			err = b.Release(t.Context(), l)
		} else if err == nil {
			_, err = b.Break(t.Context(), onto.LeaseBreak{Lease: l})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(s.leases.held)+len(s.leases.epochs) > 0 {
		t.Errorf("got %v and %v", s.leases.held, s.leases.epochs)
	}
}
