package work

import (
	"cmp"
	"encoding/json"
	"net/url"
	"reflect"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/uuid"
)

// The limits of items, in bytes.
const (
	MaxURI  = 8 << 10
	MaxBody = 1 << 20 // of a request
)

// Scope is the closed set of how far an item is the same as another one.
type Scope string

// How far items are the same.
const (
	ScopeForever Scope = "forever" // there is one item for a resource
	ScopeRun     Scope = "run"     // there is one for each run
)

// Item is a resource to be fetched.
type Item struct {
	System string `json:"source_system"` // the kind of source, which chooses the connector
	Source string `json:"source_name"`   // the source
	Type   string `json:"resource_type"` // of the resource
	ID     string `json:"resource_id"`   // of the resource, at the source

	URI      string            `json:"request_uri"`
	Method   string            `json:"request_method,omitempty"` // "" for GET
	Headers  map[string]string `json:"request_headers,omitempty"`
	Body     string            `json:"request_body,omitempty"`
	Metadata map[string]any    `json:"metadata,omitempty"` // free; must be JSON

	Priority *int   `json:"priority,omitempty"` // lower numbers first; nil for onto.DefaultWorkPriority
	Run      string `json:"run_id,omitempty"`   // the run that it belongs to; "" for none
	Scope    Scope  `json:"scope,omitempty"`    // "" for ScopeForever; ScopeRun needs Run

	NotBefore time.Time     `json:"not_before,omitzero"` // it is not fetched before
	Delay     time.Duration `json:"-"`                   // it is not fetched until so long from now
}

// Check reports whether the item can be enqueued.
func (i *Item) Check() error {
	_, err := i.item(time.Now())
	return err
}

// item checks an item, and makes it what the queue keeps.
func (i *Item) item(now time.Time) (onto.WorkItem, error) {
	w, err := i.clean(now)
	if err != nil {
		return w, onto.Errorf(cmp.Or(onto.CodeOf(err), onto.Invalid), "item %.200q of source %.200q: %w", i.ID, i.Source, err)
	}
	return w, nil
}

func (i *Item) clean(now time.Time) (onto.WorkItem, error) {
	w := onto.WorkItem{
		ID: uuid.V4(), System: i.System, Source: i.Source, Type: i.Type, Resource: i.ID, URI: i.URI,
		Method: cmp.Or(i.Method, "GET"), Body: i.Body, Priority: onto.DefaultWorkPriority, Run: i.Run, NotBefore: i.NotBefore,
	}
	if i.Priority != nil {
		w.Priority = *i.Priority
	}
	if err := i.checkNames(); err != nil {
		return w, err
	}
	if err := checkURI(i.URI); err != nil {
		return w, err
	}
	if err := checkRequest(w.Method, i.Headers, i.Body); err != nil {
		return w, err
	}
	var err error
	if w.Headers, err = object("headers", i.Headers); err != nil {
		return w, err
	}
	if w.Metadata, err = object("metadata", i.Metadata); err != nil {
		return w, err
	}
	if w.NotBefore, err = i.notBefore(now); err != nil {
		return w, err
	}
	w.Key, err = key(i)
	return w, err
}

func (i *Item) checkNames() error {
	for _, n := range []struct {
		what, name string
		least      int
	}{
		{"the source system", i.System, 1},
		{"the source", i.Source, 1},
		{"the resource type", i.Type, 1},
		{"the resource id", i.ID, 1},
		{"the run id", i.Run, 0},
	} {
		if err := checkText(n.what, n.name, n.least, onto.MaxKey); err != nil {
			return err
		}
	}
	switch i.Scope {
	case "", ScopeForever:
	case ScopeRun:
		if i.Run == "" {
			return onto.Errorf(onto.Invalid, "its scope is a run, and it names none").WithHint("set Run, or use the scope %s", ScopeForever)
		}
	default:
		return onto.Errorf(onto.Invalid, "the scope %.80q is unknown", i.Scope).WithHint("use %s or %s", ScopeForever, ScopeRun)
	}
	return nil
}

func (i *Item) notBefore(now time.Time) (time.Time, error) {
	at := i.NotBefore
	if i.Delay < 0 {
		return at, onto.Errorf(onto.Invalid, "the delay %v is negative", i.Delay).WithHint("leave it at zero to fetch at once")
	}
	if i.Delay > 0 {
		if !at.IsZero() {
			return at, onto.Errorf(onto.Invalid, "both NotBefore and Delay are set").WithHint("give one of them")
		}
		at = now.Add(i.Delay)
	}
	if at.IsZero() {
		return at, nil
	}
	if err := codec.CheckTime(at); err != nil {
		return at, onto.Errorf(onto.Invalid, "it cannot wait until then: %w", err)
	}
	return at, nil
}

// checkText refuses text that is too short or long, not UTF-8, or has control characters,
// which keep keys of runs apart from others.
func checkText(what, s string, least, most int) error {
	switch {
	case len(s) < least:
		return onto.Errorf(onto.Invalid, "%s is missing", what)
	case len(s) > most:
		return onto.Errorf(onto.TooLarge, "%s is %d bytes long, the limit is %d", what, len(s), most)
	case !utf8.ValidString(s):
		return onto.Errorf(onto.Invalid, "%s %.80q is not valid UTF-8", what, s)
	case strings.ContainsFunc(s, unicode.IsControl):
		return onto.Errorf(onto.Invalid, "%s %.80q has a control character", what, s)
	}
	return nil
}

// checkURI reports whether a URI can be fetched.
func checkURI(s string) error {
	if err := checkText("the request URI", s, 1, MaxURI); err != nil {
		return err
	}
	u, err := url.Parse(s)
	if err != nil {
		return onto.Errorf(onto.Invalid, "the request URI is malformed: %w", err)
	}
	if !u.IsAbs() {
		return onto.Errorf(onto.Invalid, "the request URI %.200q is not absolute", s).WithHint("write it whole, with its scheme, as in https://example.org/page")
	}
	if (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() == "" {
		return onto.Errorf(onto.Invalid, "the request URI %.200q has no host", s)
	}
	return nil
}

// checkRequest checks what a request has besides its URI.
func checkRequest(method string, headers map[string]string, body string) error {
	if !token(method) || len(method) > onto.MaxName {
		return onto.Errorf(onto.Invalid, "the request method %.80q is no method", method).WithHint("use GET, POST or another method of HTTP")
	}
	for name, value := range headers {
		if !token(name) {
			return onto.Errorf(onto.Invalid, "the header name %.80q is not allowed", name).WithHint("use letters, digits and -")
		}
		if strings.ContainsFunc(value, func(r rune) bool { return unicode.IsControl(r) && r != '\t' }) {
			return onto.Errorf(onto.Invalid, "the header %s has a control character in its value", name)
		}
	}
	switch {
	case len(body) > MaxBody:
		return onto.Errorf(onto.TooLarge, "the request body is %d bytes long, the limit is %d", len(body), MaxBody)
	case !utf8.ValidString(body) || strings.IndexByte(body, 0) >= 0:
		return onto.Errorf(onto.Invalid, "the request body is not text")
	}
	return nil
}

// token reports whether s is a token of HTTP.
func token(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r >= utf8.RuneSelf || !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r))
	})
}

// object is a map as JSON; nil if it is empty.
func object[V any](what string, m map[string]V) (json.RawMessage, error) {
	if len(m) == 0 {
		return nil, nil
	}
	text, err := codec.AppendValue(nil, reflect.ValueOf(m))
	if err != nil {
		return nil, onto.Errorf(onto.Invalid, "the %s are not JSON: %w", what, err)
	}
	if len(text) > onto.MaxMetadata {
		return nil, onto.Errorf(onto.TooLarge, "the %s have %d bytes as JSON, the limit is %d", what, len(text), onto.MaxMetadata)
	}
	return text, nil
}
