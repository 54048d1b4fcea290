package lease

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ontologia/onto"
)

// A write waits the whole time for each holder, but not for ever.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := Patiently(5*time.Second, time.Minute)
		left := func(epoch int64, want time.Duration) {
			t.Helper()
			if got := w.Left(&onto.Lease{Name: onto.WriteLease, Epoch: epoch}); got != want {
				t.Errorf("epoch %d: %s are left, want %s", epoch, got, want)
			}
		}
		left(1, 5*time.Second)
		time.Sleep(4 * time.Second)
		left(1, time.Second)
		left(2, 5*time.Second) // 4 s have passed
		for epoch := range int64(10) {
			time.Sleep(4 * time.Second)
			left(epoch+3, min(5*time.Second, 42*time.Second-time.Duration(epoch)*4*time.Second))
		}
		time.Sleep(6 * time.Second)
		left(13, 0)

		w = &Wait{Each: time.Second, Total: time.Second}
		left(1, time.Second)
		time.Sleep(time.Second)
		left(2, 0)
	})
}

// A migration is waited for longer, however long others were waited for before, unless that
// is shorter.
func TestWaitForMigration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := func(w *Wait, epoch int64, purpose onto.LeasePurpose, want time.Duration) {
			t.Helper()
			if got := w.Left(&onto.Lease{Name: onto.WriteLease, Epoch: epoch, Purpose: purpose}); got != want {
				t.Errorf("epoch %d for %q: %s are left, want %s", epoch, purpose, got, want)
			}
		}
		w := Patiently(time.Second, time.Minute)
		left(w, 1, onto.MigrationLease, time.Minute)
		time.Sleep(50 * time.Second)
		left(w, 1, onto.MigrationLease, 10*time.Second)
		left(w, 2, "", -40*time.Second) // others had ten seconds
		left(w, 3, onto.MigrationLease, 10*time.Second)

		w = Patiently(time.Minute, time.Second)
		left(w, 1, onto.MigrationLease, time.Minute)
	})
}
