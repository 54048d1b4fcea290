package fetch

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ontologia/onto"
)

// maxRetryAfter bounds what a server may ask for.
const maxRetryAfter = 24 * time.Hour

// Err is nil for a success and for what was not modified. For any other status it is an
// error of class [Status]; 404 and 410 have the code NotFound, 401, 403 and 451 Refused.
func (r *Response) Err() error {
	if r.NotModified || 200 <= r.Status && r.Status < 300 {
		return nil
	}
	name := strconv.Itoa(r.Status)
	if text := http.StatusText(r.Status); text != "" {
		name += " " + text
	}
	f := fail(Status, r.URL, "the server answered %s", name)
	switch r.Status {
	case http.StatusNotFound, http.StatusGone:
		f.code = onto.NotFound
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusUnavailableForLegalReasons:
		f.code = onto.Refused
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		f.Temporary = true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
	default:
		f.Temporary = r.Status >= 500
	}
	return &onto.Error{Code: f.code, Message: f.URL, Err: f}
}

// retryAfter reads Retry-After: seconds, or a date on the clock of the server.
func retryAfter(header http.Header) time.Duration {
	value := strings.TrimSpace(header.Get("Retry-After"))
	if value == "" {
		return 0
	}
	if strings.Trim(value, "0123456789") == "" {
		seconds, err := strconv.ParseInt(value, 10, 32)
		if err != nil { // more than fits
			return maxRetryAfter
		}
		return min(time.Duration(seconds)*time.Second, maxRetryAfter)
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return max(0, min(date.Sub(now), maxRetryAfter))
}
