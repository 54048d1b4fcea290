package lease

import (
	"testing"
	"testing/synctest"
	"time"
)

// A write waits the whole time for each holder, but not for ever.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := Patiently(5 * time.Second)
		left := func(epoch int64, want time.Duration) {
			t.Helper()
			if got := w.Left(epoch); got != want {
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
