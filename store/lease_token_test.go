package store

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/memory"
)

// A lease is held by its token in another program, which keeps and releases it.
func TestLeaseIsResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, name := range []string{"object.1", "import", onto.WriteLease} {
			log := memory.New(nil)
			ana, bo := openTasks(t, log.Open(), "ana"), openTasks(t, log.Open(), "bo")
			first := mustLease(t, ana, name, &LeaseOptions{TTL: 10 * time.Minute, Note: "a chat"})
			token := first.Token()
			if token != first.Token() || strings.Contains(token, name) || strings.Contains(token, "ana") {
				t.Errorf("%s: the token is %s, then %s", name, token, first.Token())
			}
			time.Sleep(time.Hour) // it has run out, and nobody has taken it
			l, err := bo.ResumeLease(t.Context(), token)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			c := l.Current()
			want := first.Current()
			if want.Expires = time.Now().Add(10 * time.Minute).UTC(); c != want {
				t.Errorf("%s: got %+v, want %+v", name, c, want)
			}
			if l.Token() != token {
				t.Errorf("%s: the token is another one", name)
			}
			ended := make(chan error)
			go func() { ended <- l.Keep(t.Context()) }()
			time.Sleep(time.Hour)
			_, err = ana.Lease(t.Context(), name, &LeaseOptions{Wait: -1})
			wantCode(t, name+" is kept", err, onto.LockContention)
			if !strings.HasSuffix(err.Error(), "a chat") {
				t.Errorf("%s: the note is lost: %v", name, err)
			}
			c = l.Current()
			if _, err := bo.Commit(t.Context(), onto.Draft{Lease: &c}.Ensure(task{"a"})); err != nil {
				t.Errorf("%s: the draft of the other program: %v", name, err)
			}
			if err := l.Release(t.Context()); err != nil {
				t.Errorf("%s: release: %v", name, err)
			}
			if err := <-ended; err != nil {
				t.Errorf("%s: keep: %v", name, err)
			}
			for _, s := range []*Store{ana, bo} {
				_, err = s.ResumeLease(t.Context(), token)
				wantCode(t, name+" was released", err, onto.LeaseExpired)
			}
			wantCode(t, name+" is not the first's", first.Renew(t.Context()), onto.LeaseExpired)
			mustLease(t, ana, name, nil) // by the same owner
			_, err = ana.ResumeLease(t.Context(), token)
			wantCode(t, name+" was taken again", err, onto.LeaseExpired)
		}
	})
}

func TestWrongLeaseTokens(t *testing.T) {
	s, other := openTasks(t, memory.New(nil).Open(), "ana"), openTasks(t, memory.New(nil).Open(), "ana")
	l := mustLease(t, s, "object.1", nil)
	mustLease(t, other, "object.1", nil)
	_, err := other.ResumeLease(t.Context(), l.Token())
	wantCode(t, "another store", err, onto.LeaseExpired)
	token := l.Token()
	for i := range token { // each character counts
		changed := []byte(token)
		if changed[i]++; changed[i] == token[i] {
			continue
		}
		if _, err := s.ResumeLease(t.Context(), string(changed)); i < len(token)-1 {
			wantCode(t, string(changed), err, onto.Invalid)
		}
	}
	for _, wrong := range []string{"", "x", "AAAAAAAA", token[:len(token)-2], token + "A", "hunter2 " + token} {
		_, err := s.ResumeLease(t.Context(), wrong)
		wantCode(t, wrong, err, onto.Invalid)
		if err != nil && (len(wrong) > 1 && strings.Contains(err.Error()+onto.HintOf(err).String(), wrong) || onto.HintOf(err).Text == "") {
			t.Errorf("%q: says %q, hint %q", wrong, err, onto.HintOf(err))
		}
	}
	if _, err := s.ResumeLease(t.Context(), token); err != nil {
		t.Errorf("the lease is not held any more: %v", err)
	}
}
