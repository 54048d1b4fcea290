package lease

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

var noon = time.Date(2026, 2, 10, 12, 0, 0, 0, time.UTC)

func wantCode(t *testing.T, what string, err error, want onto.Code) {
	t.Helper()
	if got := onto.CodeOf(err); got != want || want == "" && err != nil {
		t.Errorf("%s: got %q (%v), want %q", what, got, err, want)
	}
}

func TestKeepsOut(t *testing.T) {
	if KeepsOut(nil) || KeepsOut(&onto.Lease{Name: "import"}) || !KeepsOut(&onto.Lease{Name: onto.WriteLease}) {
		t.Error("want only the write lease to keep others out")
	}
}

// Owner and epoch decide which holder has a lease; its expiry does not.
func TestCheck(t *testing.T) {
	mine := onto.Lease{Name: "import", Owner: "ana", Epoch: 3, Acquired: noon, Expires: noon.Add(time.Minute)}
	change := func(f func(l *onto.Lease)) *onto.Lease { l := mine; f(&l); return &l }
	for name, c := range map[string]struct {
		stored *onto.Lease
		want   onto.Code
		tells  string
	}{
		"as it is":          {&mine, "", ""},
		"renewed":           {change(func(l *onto.Lease) { l.Expires = noon.Add(time.Hour) }), "", ""},
		"ran out":           {change(func(l *onto.Lease) { l.Expires = noon.Add(-time.Hour) }), "", ""},
		"free":              {nil, onto.LeaseExpired, "released or broken"},
		"taken":             {change(func(l *onto.Lease) { l.Owner, l.Epoch = "bob", 4 }), onto.LeaseExpired, "bob has taken it"},
		"taken by the same": {change(func(l *onto.Lease) { l.Epoch = 4 }), onto.LeaseExpired, "ana has taken it"},
		"the epoch again":   {change(func(l *onto.Lease) { l.Owner = "old" }), onto.LeaseExpired, "old has taken it"},
	} {
		err := Check(mine, c.stored)
		wantCode(t, name, err, c.want)
		if err != nil && !strings.Contains(err.Error(), c.tells) {
			t.Errorf("%s: got %v, want it to tell: %s", name, err, c.tells)
		}
		later := noon.Add(time.Second)
		extended, err := Extend(mine, c.stored, later, time.Hour)
		wantCode(t, name+", renewed", err, c.want)
		want := mine
		if want.Expires = later.Add(time.Hour); err == nil && extended != want {
			t.Errorf("%s: renewed to %v, want %v", name, extended, want)
		}
	}
}

func TestGrant(t *testing.T) {
	r := &backend.LeaseRequest{Name: "import", Owner: "ana", TTL: time.Minute}
	got := Grant(r, 7, noon)
	want := onto.Lease{Name: "import", Owner: "ana", Epoch: 7, Acquired: noon, Expires: noon.Add(time.Minute)}
	if got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// The note of a lease is that of its newest renewal; its purpose stays.
func TestNotes(t *testing.T) {
	l := Grant(&backend.LeaseRequest{Name: onto.WriteLease, Owner: "ana", TTL: time.Minute, Purpose: onto.MigrationLease, Note: "planning"}, 7, noon)
	want := l
	want.Note = "40% of 10"
	renewed, err := Extend(want, &l, noon, time.Minute)
	if err != nil || renewed.Note != "40% of 10" || renewed.Purpose != onto.MigrationLease || l.Note != "planning" {
		t.Errorf("renewed %+v to %+v, %v", l, renewed, err)
	}
	if err := Contention(&renewed); !strings.HasSuffix(err.Error(), ": migration, 40% of 10") {
		t.Errorf("got %v, want the note in it", err)
	}
	if !OfMigration(&l) || OfMigration(nil) || OfMigration(&onto.Lease{Name: "import", Purpose: onto.MigrationLease}) || OfMigration(&onto.Lease{Name: onto.WriteLease}) {
		t.Error("want only the write lease of a migration to be one")
	}
}

// A new note is stored soon, with a renewal that is not yet due, and stays from then on.
func TestNotesAreStoredSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(shelf)
		h, stop, _ := kept(t, s)
		h.SetNote("1% of 10")
		h.SetNote("2% of 10")
		if h.Current().Note != "" {
			t.Errorf("got the note %q before it was stored", h.Current().Note)
		}
		time.Sleep(KeepPace + time.Second)
		s.set(func() {
			if s.renews != 1 || s.stored.Note != "2% of 10" || h.Current().Note != "2% of 10" {
				t.Errorf("renewed %d times to %+v", s.renews, s.stored)
			}
		})
		time.Sleep(10 * time.Minute)
		if err := stop(); err != nil || s.stored.Note != "2% of 10" || s.renews > 32 {
			t.Errorf("after %d renewals: %+v, %v", s.renews, s.stored, err)
		}
	})
}

func TestContention(t *testing.T) {
	err := Contention(&onto.Lease{Name: "import", Owner: "ana", Expires: noon})
	wantCode(t, "contention", err, onto.LockContention)
	for _, part := range []string{"ana", "import", "2026-02-10T12:00:00"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("got %v, want %s in it", err, part)
		}
	}
}

// A lease whose holder's clock is ahead has expired when it was seen unchanged for as
// long as it lasts; each write of it restarts that time.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w Watch
		ahead := &onto.Lease{Name: "import", Expires: time.Now().Add(48 * time.Hour)}
		expired := func(what, id string, want bool) {
			t.Helper()
			if got := w.Expired("k", id, ahead, time.Minute, time.Now()); got != want {
				t.Errorf("%s: expired is %v, want %v", what, got, want)
			}
		}
		expired("never seen", "a", false)
		see := func(id string, epoch, least int64, want bool) {
			t.Helper()
			if got := w.See("k", id, epoch, least); got != want {
				t.Errorf("%s with epoch %d, at least %d: got %v, want %v", id, epoch, least, got, want)
			}
		}
		see("a", 5, 0, true)
		time.Sleep(59 * time.Second)
		see("a", 5, 5, true)
		expired("not long enough", "a", false)
		time.Sleep(time.Second)
		expired("long enough", "a", true)
		expired("another that is not the one seen", "b", false)
		see("b", 5, 0, true)
		expired("renewed", "b", false)
		see("old", 4, 0, false)
		see("c", 5, 6, false)
		see("foreign", 0, 6, true)
		if w.Epoch("k") != 5 || w.Epoch("other") != 0 {
			t.Errorf("got epochs %d and %d, want 5 and 0", w.Epoch("k"), w.Epoch("other"))
		}
		time.Sleep(time.Hour)
		if w.Expired("k", "foreign", ahead, 0, time.Now()) {
			t.Error("a lease that tells no duration was judged by it")
		}
		if !w.Expired("k", "any", ahead, 0, ahead.Expires) {
			t.Error("a lease whose time is over by the clock was not")
		}
	})
}

// shelf keeps one lease.
type shelf struct {
	mu     sync.Mutex // guards what follows
	stored *onto.Lease
	fails  error // of Renew
	renews int
}

func (s *shelf) Acquire(_ context.Context, r *backend.LeaseRequest) (onto.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stored != nil {
		return onto.Lease{}, Contention(s.stored)
	}
	l := Grant(r, 1, time.Now())
	s.stored = &l
	return l, nil
}

func (s *shelf) Renew(_ context.Context, l onto.Lease, ttl time.Duration) (onto.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.renews++; s.fails != nil {
		return onto.Lease{}, s.fails
	}
	renewed, err := Extend(l, s.stored, time.Now(), ttl)
	if err == nil {
		s.stored = &renewed
	}
	return renewed, err
}

func (s *shelf) Release(_ context.Context, l onto.Lease) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := Check(l, s.stored)
	if err == nil {
		s.stored = nil
	}
	return err
}

func (s *shelf) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// kept takes a lease for a minute and keeps it. It notes whether it was lost.
func kept(t *testing.T, s *shelf) (h *Held, stop func() error, lost chan struct{}) {
	t.Helper()
	h, err := Take(t.Context(), s, &backend.LeaseRequest{Name: "import", Owner: "ana", TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	lost = make(chan struct{})
	return h, h.Keeping(t.Context(), func() { close(lost) }), lost
}

// A lease is renewed each third of its time until stop is called, and not after it.
func TestKeeping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(shelf)
		h, stop, lost := kept(t, s)
		time.Sleep(10*time.Minute + time.Second)
		if err := stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
		if s.renews != 30 || h.Current() != *s.stored {
			t.Errorf("renewed %d times in 10 minutes to %v, want 30 times to %v", s.renews, h.Current(), *s.stored)
		}
		time.Sleep(time.Hour)
		select {
		case <-lost:
			t.Error("lost was called, and the lease was not")
		default:
		}
		if s.renews != 30 || !h.Due() {
			t.Errorf("renewed %d times, due is %v; want it left alone", s.renews, h.Due())
		}
		if err := h.Release(t.Context()); err != nil || s.stored != nil {
			t.Errorf("got %v and %v, want it released", err, s.stored)
		}
	})
}

// A lease that was taken over is reported, at the next renewal.
func TestKeepingIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(shelf)
		h, stop, lost := kept(t, s)
		s.set(func() { s.stored = &onto.Lease{Name: "import", Owner: "bob", Epoch: 2} })
		<-lost
		wantCode(t, "stop", stop(), onto.LeaseExpired)
		wantCode(t, "release", h.Release(t.Context()), onto.LeaseExpired)
		if s.renews != 1 {
			t.Errorf("tried %d times, want once", s.renews)
		}
	})
}

// Transient failures are ignored; ones that last for the time of the lease end it.
func TestKeepingThroughFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(shelf)
		planted := errors.New("planted")
		_, stop, lost := kept(t, s)
		s.set(func() { s.fails = planted })
		time.Sleep(50 * time.Second)
		s.set(func() { s.fails = nil })
		time.Sleep(10 * time.Minute)
		select {
		case <-lost:
			t.Fatal("lost although the failures passed")
		default:
		}
		s.set(func() { s.fails = planted })
		<-lost
		err := stop()
		wantCode(t, "stop", err, onto.LeaseExpired)
		if !errors.Is(err, planted) {
			t.Errorf("got %v, want the cause in it", err)
		}
	})
}

// A release ends the renewals, whatever became of the lease since.
func TestReleaseEndsKeeping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(shelf)
		h, stop, _ := kept(t, s)
		if err := h.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if err := stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
		if s.renews > 1 {
			t.Errorf("tried to renew %d times what was released", s.renews)
		}
	})
}

func TestTakeFails(t *testing.T) {
	s := &shelf{stored: &onto.Lease{Name: "import", Owner: "bob", Epoch: 1}}
	_, err := Take(t.Context(), s, &backend.LeaseRequest{Name: "import", Owner: "ana", TTL: time.Minute})
	wantCode(t, "taking what another holds", err, onto.LockContention)
}

// A lease that was taken elsewhere is renewed soon, with its note, and from then on.
func TestResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := onto.Lease{Name: "import", Owner: "ana", Epoch: 3, Note: "40% of 10"}
		s := &shelf{stored: &l}
		h := Resume(s, l, time.Minute)
		stop := h.Keeping(t.Context(), func() { t.Error("it was lost") })
		time.Sleep(KeepPace + time.Second)
		s.set(func() {
			if s.renews != 1 || s.stored.Note != "40% of 10" || !s.stored.Expires.After(time.Now().Add(50*time.Second)) {
				t.Errorf("after %d renewals: %+v", s.renews, s.stored)
			}
		})
		time.Sleep(10 * time.Minute)
		if err := stop(); err != nil || s.renews < 30 {
			t.Errorf("after %d renewals: %v", s.renews, err)
		}
	})
}
