package robots

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/ontologia/onto"
)

// MaxRedirects is how many redirects of a robots.txt a [Fetch] follows.
const MaxRedirects = 5

// Fetch gets a robots.txt, for a [Cache]. It follows [MaxRedirects] redirects, to other hosts
// too, and returns the last status, 3xx if they go on. An error stands for a file that cannot
// be reached.
type Fetch func(ctx context.Context, url string) (status int, body []byte, err error)

// CacheOptions sets how long files are kept. Nil and zero values stand for the defaults.
type CacheOptions struct {
	Keep    time.Duration // a file, or the news that there is none; default 24 hours
	Retry   time.Duration // pause before a file that cannot be reached is tried again; default 10 minutes
	Outlast time.Duration // how long a copy is good while the file cannot be reached; default 30 days
	Origins int           // how many origins are kept; default 1000
}

// Cache keeps the files of origins. Goroutines may share it; those that ask for one origin at
// a time cause one fetch.
type Cache struct {
	fetch Fetch
	opts  CacheOptions

	mu      sync.Mutex // guards entries and the field used of each
	entries map[string]*entry
}

// entry is an origin. The one place in busy belongs to the goroutine that reads and writes
// the fields below it.
type entry struct {
	used time.Time

	busy    chan struct{}
	file    *File     // the last that was had, nil for none
	had     time.Time // when
	expires time.Time // when to fetch again
	failure error     // why the last fetch had no file, nil if it had one
}

// NewCache makes a cache.
func NewCache(fetch Fetch, opts *CacheOptions) *Cache {
	o := CacheOptions{}
	if opts != nil {
		o = *opts
	}
	o.Keep = cmp.Or(o.Keep, 24*time.Hour)
	o.Retry = cmp.Or(o.Retry, 10*time.Minute)
	o.Outlast = cmp.Or(o.Outlast, 30*24*time.Hour)
	o.Origins = cmp.Or(o.Origins, 1000)
	return &Cache{fetch: fetch, opts: o, entries: map[string]*entry{}}
}

// Verdict is whether a URL may be fetched.
type Verdict struct {
	Allowed bool
	Reason  string        // why not
	Retry   time.Time     // when to ask again, if the file could not be reached; else zero
	Delay   time.Duration // between requests to the origin, as the file asks; zero if it does not
}

// Ask tells whether an agent may fetch a URL. Its error is that of the context, or about a
// URL that is none of http or https.
func (c *Cache) Ask(ctx context.Context, agent, rawURL string) (Verdict, error) {
	origin, path, err := split(rawURL)
	if err != nil {
		return Verdict{}, err
	}
	e := c.entry(origin)
	select {
	case e.busy <- struct{}{}:
		defer func() { <-e.busy }()
	case <-ctx.Done():
		return Verdict{}, ctx.Err()
	}
	if !time.Now().Before(e.expires) {
		if err := c.refresh(ctx, origin, e); err != nil {
			return Verdict{}, err
		}
	}
	if e.file == nil {
		return Verdict{Reason: fmt.Sprintf("%s/robots.txt cannot be reached: %v", origin, e.failure), Retry: e.expires}, nil
	}
	v := Verdict{Delay: e.file.CrawlDelay(agent)}
	rule := e.file.Decide(agent, path)
	if v.Allowed = rule.Allow; !v.Allowed {
		v.Reason = fmt.Sprintf("%s/robots.txt, line %d: %s", origin, rule.Line, clip(rule.String()))
	}
	return v, nil
}

// refresh fetches the file of an origin. Its error is that of the context; the cache is then
// as it was.
func (c *Cache) refresh(ctx context.Context, origin string, e *entry) error {
	status, body, err := c.fetch(ctx, origin+"/robots.txt")
	if ctx.Err() != nil {
		return ctx.Err()
	}
	now := time.Now()
	switch {
	case err == nil && 200 <= status && status < 300:
		e.file, e.failure = Parse(body), nil
	case err == nil && 300 <= status && status < 500 && status != 429:
		e.file, e.failure = &File{}, nil
	default:
		if e.failure = err; err == nil {
			e.failure = fmt.Errorf("status %d", status)
		}
		if now.Sub(e.had) > c.opts.Outlast {
			e.file = nil
		}
		e.expires = now.Add(c.opts.Retry)
		return nil
	}
	e.had, e.expires = now, now.Add(c.opts.Keep)
	return nil
}

// entry returns that of an origin. A new one takes the place of the one that was not used for
// the longest time, if there are too many.
func (c *Cache) entry(origin string) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[origin]
	if e == nil {
		if len(c.entries) >= c.opts.Origins {
			delete(c.entries, c.leastUsed())
		}
		e = &entry{busy: make(chan struct{}, 1)}
		c.entries[origin] = e
	}
	e.used = time.Now()
	return e
}

func (c *Cache) leastUsed() string {
	var name string
	for origin, e := range c.entries {
		if oldest := c.entries[name]; oldest == nil || e.used.Before(oldest.used) {
			name = origin
		}
	}
	return name
}

// split returns the origin of a URL, in one form, and its path with the query.
func split(rawURL string) (origin, path string, err error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return "", "", onto.Errorf(onto.Invalid, "what robots.txt is asked about is not a URL of http or https")
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port := u.Port(); port != "" && port != map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		host += ":" + port
	}
	return u.Scheme + "://" + host, u.RequestURI(), nil
}

// clip bounds a text that others wrote.
func clip(text string) string {
	const longest = 200
	if len(text) > longest {
		text = text[:longest] + "…"
	}
	return strings.ToValidUTF8(text, "?")
}
