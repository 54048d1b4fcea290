package protocol

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/internal/segment"
)

// reply answers a swap of the head. Do applies it.
type reply func(do func() (bucket.Tag, error)) (bucket.Tag, error)

// scripted is a bucket whose swaps of the head are answered by a script, and truthfully
// when it is over.
type scripted struct {
	bucket.Bucket
	script []reply
	hide   error // what reads of the head fail with; nil if they do not
	swaps  int   // of the head
}

func (s *scripted) Swap(ctx context.Context, key string, data []byte, old bucket.Tag) (bucket.Tag, error) {
	do := func() (bucket.Tag, error) { return s.Bucket.Swap(context.WithoutCancel(ctx), key, data, old) }
	if key != HeadKey {
		return do()
	}
	if s.swaps++; len(s.script) == 0 {
		return do()
	}
	next := s.script[0]
	s.script = s.script[1:]
	return next(do)
}

func (s *scripted) Get(ctx context.Context, key string, r bucket.Range, ifNot bucket.Tag) (bucket.Object, error) {
	if s.hide != nil && key == HeadKey {
		return bucket.Object{}, s.hide
	}
	return s.Bucket.Get(ctx, key, r, ifNot)
}

// refuses is a late reply to a swap that was not applied.
func refuses(err error, after time.Duration) reply {
	return func(func() (bucket.Tag, error)) (bucket.Tag, error) {
		time.Sleep(after)
		return "", err
	}
}

// appliesAnd is a late refusal of a swap that was applied.
func appliesAnd(err error, after time.Duration) reply {
	return func(do func() (bucket.Tag, error)) (bucket.Tag, error) {
		_, _ = do()
		time.Sleep(after)
		return "", err
	}
}

// answers are what a storage may say instead of success.
func answers() []error {
	return []error{bucket.ErrConflict, bucket.ErrThrottled, bucket.ErrNotFound, bucket.ErrChanged, bucket.ErrUnknown}
}

// inLake runs a story about a lake with one commit, whose next swaps are answered
// by a script. In the end all can be read that the head leads to.
func inLake(t *testing.T, script []reply, story func(t *testing.T, s *scripted, l *peer)) {
	synctest.Test(t, func(t *testing.T) {
		b, first := leaseLake(t)
		if err := put(t.Context(), first, nil, "first"); err != nil {
			t.Fatal(err)
		}
		s := &scripted{Bucket: b}
		l := plainLog(s, "w")
		l.set.Patience = 10 * time.Second
		if _, err := l.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.script = script
		story(t, s, l)
		wantReadable(t, b)
	})
}

// wantReadable reads all that the head of a lake leads to, and returns the keys.
func wantReadable(t *testing.T, b bucket.Bucket) map[int64]string {
	t.Helper()
	r := plainLog(b, "r")
	now, err := r.Load(t.Context())
	if err != nil {
		t.Fatalf("the lake is not readable: %v", err)
	}
	keys, err := readAll(t.Context(), r, now)
	if err != nil {
		t.Errorf("the lake is not readable: %v", err)
	}
	return keys
}

func wantKeys(t *testing.T, b bucket.Bucket, want ...string) {
	t.Helper()
	keys := wantReadable(t, b)
	for i, key := range want {
		if keys[int64(i)+1] != key {
			t.Errorf("commit %d: got %q, want %q", i+1, keys[int64(i)+1], key)
		}
	}
	if len(keys) != len(want) {
		t.Errorf("got %d commits, want %d", len(keys), len(want))
	}
}

// A swap that was applied is published, whatever the answer says, and however late it
// comes.
func TestRefusalAfterTheFact(t *testing.T) {
	for _, honest := range []error{bucket.ErrConflict, bucket.ErrThrottled} {
		for _, lie := range answers() {
			t.Run(fmt.Sprintf("%v, then %v", honest, lie), func(t *testing.T) {
				script := []reply{refuses(honest, 2*time.Second), appliesAnd(lie, 9*time.Second)}
				inLake(t, script, func(t *testing.T, s *scripted, l *peer) {
					wantCode(t, "the commit", put(t.Context(), l, nil, "second"), "")
					wantKeys(t, s.Bucket, "first", "second")
				})
			})
		}
	}
}

// A swap that is refused again and again may yet be applied: the outcome is unknown,
// nothing is discarded, and it can be read if it is applied.
func TestRefusedUntilPatienceEnds(t *testing.T) {
	for _, answer := range answers() {
		t.Run(answer.Error(), func(t *testing.T) {
			var late func() (bucket.Tag, error)
			script := make([]reply, 1000)
			for i := range script {
				script[i] = func(do func() (bucket.Tag, error)) (bucket.Tag, error) {
					late = do
					return "", answer
				}
			}
			inLake(t, script, func(t *testing.T, s *scripted, l *peer) {
				wantCode(t, "the commit", put(t.Context(), l, nil, "second"), onto.OutcomeUnknown)
				if _, err := late(); err != nil {
					t.Fatal(err)
				}
				wantKeys(t, s.Bucket, "first", "second")
				s.script = nil
				wantCode(t, "the next", put(t.Context(), l, nil, "third"), "")
				wantKeys(t, s.Bucket, "first", "second", "third")
			})
		})
	}
}

// Where the head cannot be read the outcome is not known, and nothing is
// discarded.
func TestRefusalWithoutALook(t *testing.T) {
	for _, answer := range answers() {
		t.Run(answer.Error(), func(t *testing.T) {
			inLake(t, nil, func(t *testing.T, s *scripted, l *peer) {
				s.script = []reply{func(do func() (bucket.Tag, error)) (bucket.Tag, error) {
					_, _ = do()
					s.hide = errors.New("no reading today")
					return "", answer
				}}
				wantCode(t, "the commit", put(t.Context(), l, nil, "second"), onto.OutcomeUnknown)
				wantKeys(t, s.Bucket, "first", "second")
			})
		})
	}
}

// A missing head is reported when it stays missing, and only then.
func TestHeadIsGone(t *testing.T) {
	inLake(t, []reply{refuses(bucket.ErrNotFound, 0)}, func(t *testing.T, s *scripted, l *peer) {
		wantCode(t, "a commit after one 404", put(t.Context(), l, nil, "second"), "")
		wantKeys(t, s.Bucket, "first", "second")
		o, err := s.Bucket.Get(t.Context(), HeadKey, bucket.Range{}, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Bucket.Delete(t.Context(), HeadKey); err != nil {
			t.Fatal(err)
		}
		wantCode(t, "a commit without a head", put(t.Context(), l, nil, "third"), onto.Corrupt)
		if _, err := s.Bucket.Create(t.Context(), HeadKey, o.Data); err != nil { // from a backup
			t.Fatal(err)
		}
		wantCode(t, "a commit after the head was restored", put(t.Context(), l, nil, "third"), "")
		wantKeys(t, s.Bucket, "first", "second", "third")
	})
}

// A definite refusal is passed on at once, unless the swap, or one before it, was
// applied.
func TestRefusedForGood(t *testing.T) {
	denied := onto.Errorf(onto.ReadOnly, "the credentials lack the permission")
	for name, c := range map[string]struct {
		script []reply
		want   onto.Code
		swaps  int
	}{
		"not done":               {[]reply{refuses(denied, 0)}, onto.ReadOnly, 1},
		"done":                   {[]reply{appliesAnd(denied, 0)}, "", 1},
		"done before":            {[]reply{appliesAnd(bucket.ErrUnknown, 0), refuses(denied, 0)}, "", 1},
		"perhaps under way":      {[]reply{refuses(bucket.ErrUnknown, 0), refuses(denied, 0)}, "", 3},
		"conflict, then allowed": {[]reply{refuses(bucket.ErrConflict, 0), refuses(denied, 0)}, "", 3},
	} {
		t.Run(name, func(t *testing.T) {
			inLake(t, c.script, func(t *testing.T, s *scripted, l *peer) {
				wantCode(t, "the commit", put(t.Context(), l, nil, "second"), c.want)
				want := []string{"first", "second"}
				if c.want != "" {
					want = want[:1]
				}
				wantKeys(t, s.Bucket, want...)
				if s.swaps != c.swaps {
					t.Errorf("got %d swaps, want %d", s.swaps, c.swaps)
				}
			})
		})
	}
}

// A head with a wrong tag is swapped all the same: one read returns the right one.
func TestWrongTag(t *testing.T) {
	wrong := func(do func() (bucket.Tag, error)) (bucket.Tag, error) {
		_, err := do()
		return "wrong", err
	}
	inLake(t, []reply{wrong}, func(t *testing.T, s *scripted, l *peer) {
		began := time.Now()
		for _, key := range []string{"second", "third", "fourth"} {
			wantCode(t, key, put(t.Context(), l, nil, key), "")
		}
		wantKeys(t, s.Bucket, "first", "second", "third", "fourth")
		if s.swaps != 4 || time.Since(began) > 0 { // the clock of the bubble advances only while all wait
			t.Errorf("got %d swaps in %v, want one more after the wrong tag, at once", s.swaps, time.Since(began))
		}
	})
}

// An object that exists according to the storage is the attempt's own, or is written
// again.
func TestCreateIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := leaseLake(t)
		for _, done := range []bool{true, false} {
			for _, answer := range []error{bucket.ErrExists, bucket.ErrConflict, bucket.ErrThrottled, bucket.ErrUnknown} {
				c := &refusesCreate{Bucket: b, done: done, err: answer}
				o := Object{fmt.Sprintf("commits/%v-%v", done, segment.Escape(answer.Error())), []byte("text")}
				if err := plainLog(c, "w").Create(t.Context(), o); err != nil {
					t.Errorf("%v, done: %v: %v", answer, done, err)
				}
				if got, err := b.Get(t.Context(), o.Key, bucket.Range{}, ""); err != nil || string(got.Data) != "text" {
					t.Errorf("%v, done: %v: it is %q, %v", answer, done, got.Data, err)
				}
			}
		}
	})
}

// refusesCreate is a bucket that refuses the first object, applied or not.
type refusesCreate struct {
	bucket.Bucket
	done bool
	err  error // nil once it has refused
}

func (r *refusesCreate) Create(ctx context.Context, key string, data []byte) (bucket.Tag, error) {
	if err := r.err; err != nil {
		if r.err = nil; r.done {
			_, _ = r.Bucket.Create(ctx, key, data)
		}
		return "", err
	}
	return r.Bucket.Create(ctx, key, data)
}
