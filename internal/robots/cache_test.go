package robots

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ontologia/onto"
)

// site answers for every robots.txt as it is told to, and counts.
type site struct {
	status int
	body   string
	err    error
	urls   []string
}

func (s *site) fetch(_ context.Context, url string) (int, []byte, error) {
	s.urls = append(s.urls, url)
	return s.status, []byte(s.body), s.err
}

func mustAsk(t *testing.T, c *Cache, url string) Verdict {
	t.Helper()
	v, err := c.Ask(t.Context(), "bot/1", url)
	if err != nil {
		t.Fatal(err)
	}
	if v.Allowed != (v.Reason == "") {
		t.Errorf("allowed %v with the reason %q", v.Allowed, v.Reason)
	}
	return v
}

const disallow = "user-agent: *\ndisallow: /x\ncrawl-delay: 2\n"

func TestStatuses(t *testing.T) {
	for _, tt := range []struct {
		status  int
		err     error
		allowed bool // /x, which the body disallows
		other   bool // all else
	}{
		{200, nil, false, true}, {206, nil, false, true},
		{301, nil, true, true}, {308, nil, true, true}, // redirects that go on
		{400, nil, true, true}, {401, nil, true, true}, {403, nil, true, true}, {404, nil, true, true}, {410, nil, true, true}, {499, nil, true, true},
		{429, nil, false, false}, {500, nil, false, false}, {503, nil, false, false}, {599, nil, false, false}, {0, nil, false, false}, {600, nil, false, false},
		{0, errors.New("no such host"), false, false}, {200, errors.New("ended early"), false, false},
	} {
		s := &site{tt.status, disallow, tt.err, nil}
		c := NewCache(s.fetch, nil)
		at := fmt.Sprintf("status %d, %v", tt.status, tt.err)
		x, other := mustAsk(t, c, "http://a.example/x"), mustAsk(t, c, "http://a.example/y")
		if x.Allowed != tt.allowed || other.Allowed != tt.other {
			t.Errorf("%s: got %v and %v, want %v and %v", at, x.Allowed, other.Allowed, tt.allowed, tt.other)
		}
		if unreachable := !tt.other; x.Retry.IsZero() == unreachable {
			t.Errorf("%s: to be tried again at %s", at, x.Retry)
		}
		if len(s.urls) != 1 {
			t.Errorf("%s: fetched %d times", at, len(s.urls))
		}
	}
}

func TestReasons(t *testing.T) {
	s := &site{200, disallow, nil, nil}
	c := NewCache(s.fetch, nil)
	v := mustAsk(t, c, "https://A.example:443/x?token=abc")
	if want := "https://a.example/robots.txt, line 2: Disallow: /x"; v.Reason != want || v.Delay != 2*time.Second {
		t.Errorf("got %q and %s, want %q", v.Reason, v.Delay, want)
	}
	s.err = errors.New("connection refused")
	v = mustAsk(t, c, "https://b.example/")
	if want := "https://b.example/robots.txt cannot be reached: connection refused"; v.Reason != want {
		t.Errorf("got %q, want %q", v.Reason, want)
	}
	s.body, s.err = "user-agent: *\ndisallow: /"+strings.Repeat("*", 1000), nil
	if v = mustAsk(t, c, "https://c.example/"); len(v.Reason) > 300 {
		t.Errorf("a reason of %d bytes", len(v.Reason))
	}
}

func TestOrigins(t *testing.T) {
	s := &site{200, disallow, nil, nil}
	c := NewCache(s.fetch, nil)
	for _, url := range []string{
		"http://a.example/", "http://A.EXAMPLE./b", "http://a.example:80/c?d", "http://u:p@a.example/", // one
		"https://a.example/", "https://a.example:443", // another
		"http://a.example:8080/", "http://[::1]/", "http://[::1]:80/x", "http://www.a.example",
	} {
		mustAsk(t, c, url)
	}
	want := "[http://a.example/robots.txt https://a.example/robots.txt http://a.example:8080/robots.txt http://[::1]/robots.txt http://www.a.example/robots.txt]"
	if got := fmt.Sprint(s.urls); got != want {
		t.Errorf("fetched %s, want %s", got, want)
	}
	for _, url := range []string{"", "/x", "ftp://a.example/", "http:///x", "http://%zz/", "mailto:a@b"} {
		if _, err := c.Ask(t.Context(), "bot", url); onto.CodeOf(err) != onto.Invalid {
			t.Errorf("%q: got %v, want Invalid", url, err)
		}
	}
}

// TestLife follows one origin for two months.
func TestLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &site{503, disallow, nil, nil}
		c := NewCache(s.fetch, nil)
		expect := func(what string, allowed bool, fetches int) {
			t.Helper()
			v := mustAsk(t, c, "http://a.example/y")
			if v.Allowed != allowed || len(s.urls) != fetches {
				t.Errorf("%s: allowed %v after %d fetches, want %v after %d", what, v.Allowed, len(s.urls), allowed, fetches)
			}
		}
		expect("cannot be reached", false, 1)
		time.Sleep(10*time.Minute - 1)
		expect("is not tried again yet", false, 1)
		s.status = 200
		time.Sleep(time.Nanosecond)
		expect("is tried again", true, 2)
		time.Sleep(24*time.Hour - 1)
		s.body = "user-agent: *\ndisallow: /"
		expect("is kept for a day", true, 2)
		time.Sleep(time.Nanosecond)
		expect("is fetched again", false, 3)

		s.body = disallow
		time.Sleep(24 * time.Hour)
		expect("allows again", true, 4)
		s.err = errors.New("no such host")
		time.Sleep(24 * time.Hour)
		expect("cannot be reached, the copy is good", true, 5)
		time.Sleep(10 * time.Minute)
		expect("is tried often meanwhile", true, 6)
		time.Sleep(29 * 24 * time.Hour)
		expect("cannot be reached for 30 days", false, 7)
		s.status, s.err = 404, nil
		time.Sleep(10 * time.Minute)
		expect("is gone", true, 8)
	})
}

// TestOneFetch: many ask at a time, one fetches; if its context ends, another does.
func TestOneFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fetches := 0
		c := NewCache(func(ctx context.Context, _ string) (int, []byte, error) {
			fetches++
			select {
			case <-time.After(time.Minute):
				return 200, []byte(disallow), nil
			case <-ctx.Done():
				return 0, nil, ctx.Err()
			}
		}, nil)
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var all sync.WaitGroup
		var failed sync.Map
		for i := range 20 {
			if i == 10 {
				synctest.Wait() // one of the first ten fetches, the others wait for it
			}
			all.Go(func() {
				ctx := t.Context()
				if i < 10 {
					ctx = short
				}
				v, err := c.Ask(ctx, "bot", "http://a.example/x")
				if i < 10 && err == context.DeadlineExceeded {
					failed.Store(i, true)
				} else if err != nil || v.Allowed || !v.Retry.IsZero() {
					t.Errorf("%d: got %+v, %v", i, v, err)
				}
			})
		}
		all.Wait()
		n := 0
		failed.Range(func(any, any) bool { n++; return true })
		if n != 10 || fetches != 2 {
			t.Errorf("%d asked for too short a time, %d fetches; want 10 and 2", n, fetches)
		}
	})
}

func TestBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &site{200, disallow, nil, nil}
		c := NewCache(s.fetch, &CacheOptions{Origins: 10})
		for i := range 100 {
			time.Sleep(time.Second)
			mustAsk(t, c, fmt.Sprintf("http://site%d.example/", i))
			mustAsk(t, c, "http://often.example/")
		}
		if len(c.entries) > 10 || len(s.urls) != 101 {
			t.Errorf("%d origins are kept after %d fetches, want 10 after 101", len(c.entries), len(s.urls))
		}
	})
}
