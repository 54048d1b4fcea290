package work

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/ontologia/onto/internal/fetch"
	"github.com/ontologia/onto/internal/robots"
)

const (
	classRobots = "robots"
	maxRobots   = 512 << 10        // bytes of a robots.txt that are read; RFC 9309 wants 500 KiB
	robotsRetry = 10 * time.Second // before a robots.txt that could not be reached is tried again
)

// rulesOf are the rules of robots.txt, unless they are to be ignored.
func rulesOf(o *HTTPOptions, client *fetch.Client) rules {
	if o.IgnoreRobots {
		return func(context.Context, string) error { return nil }
	}
	cache := robots.NewCache(func(ctx context.Context, uri string) (int, []byte, error) { return robotsFile(ctx, client, uri) },
		&robots.CacheOptions{Retry: robotsRetry})
	agent := cmp.Or(o.UserAgent, "onto")
	return func(ctx context.Context, uri string) error {
		v, err := cache.Ask(ctx, agent, uri)
		switch {
		case err != nil && ctx.Err() == nil:
			return nil // no URL of http: fetching it will tell
		case err != nil:
			return err
		case v.Allowed:
			return nil
		case !v.Retry.IsZero():
			return classed(Temporary(errors.New(v.Reason), time.Until(v.Retry)), classRobots)
		}
		return classed(SkipItem("disallowed by "+v.Reason), classRobots)
	}
}

// robotsFile fetches a robots.txt. If its address is refused, so will be that of the
// resource: there are no rules, and the resource tells why.
func robotsFile(ctx context.Context, client *fetch.Client, uri string) (int, []byte, error) {
	answer, err := client.Do(ctx, &fetch.Request{URL: uri, Cut: maxRobots, MaxRedirects: robots.MaxRedirects})
	if f := fetch.FailureOf(err); f != nil {
		switch f.Class {
		case fetch.Redirect:
			return http.StatusFound, nil, nil
		case fetch.Refused, fetch.Invalid:
			return http.StatusNotFound, nil, nil
		}
	}
	if err != nil {
		return 0, nil, err
	}
	return answer.Status, answer.Body, nil
}
