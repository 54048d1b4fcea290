package work

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/attempts"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/workcsv"
)

// ImportItem is an item of another queue.
type ImportItem struct {
	Place string // where it is, for messages, as line 3
	backend.WorkState
	Err error // why it cannot be an item here; nil if it can

	counted bool // its attempts do not explain it, and only their number is kept
}

// refuse is the error for an item.
func (e *ImportItem) refuse(format string, args ...any) error {
	return onto.Errorf(onto.Invalid, "%s: %s", e.Place, fmt.Sprintf(format, args...))
}

// NewImportItem makes an item of the columns of work_items and of the attempts at it, oldest
// first, if these are known.
func NewImportItem(place string, row *workcsv.Row, list []onto.WorkAttempt) ImportItem {
	e := ImportItem{Place: place}
	if err := e.read(row); err != nil {
		e.Err = onto.Errorf(cmp.Or(onto.CodeOf(err), onto.Invalid), "%s: %w", place, err)
		return e
	}
	if len(list) == 0 {
		return e
	}
	if e.explained(list) {
		e.Attempts = list
		return e
	}
	e.counted, e.Attempt = true, max(e.Attempt, list[len(list)-1].Number)
	return e
}

// read reads the columns of an item.
func (e *ImportItem) read(row *workcsv.Row) error {
	i := Item{
		System: row.SourceSystem, Source: row.SourceName, Type: row.ResourceType, ID: row.ResourceID,
		URI: row.RequestURI, Method: row.RequestMethod, Body: row.RequestBody.Text, Run: row.RunID.Text,
	}
	headers, err := canonicalObject("request_headers", json.RawMessage(row.RequestHeaders.Text))
	if err != nil {
		return err
	}
	if headers != nil {
		if err := json.Unmarshal(headers, &i.Headers); err != nil {
			return onto.Errorf(onto.Invalid, "request_headers: a value is no text")
		}
	}
	w, err := i.item(time.Time{})
	if err != nil {
		return err
	}
	w.Headers = headers
	if w.Metadata, err = canonicalObject("metadata", json.RawMessage(row.Metadata.Text)); err != nil {
		return err
	}
	w.ID, w.Parent, w.Key, w.Error = cmp.Or(row.WorkItemID, w.ID), row.DiscoveredFrom.Text, row.DedupeKey, row.ErrorMessage.Text
	e.WorkItem = w
	for _, err := range []error{
		checkText("work_item_id", w.ID, 1, onto.MaxKey), checkText("discovered_from", w.Parent, 0, onto.MaxKey),
		checkKey(w.Key), checkMessage(w.Error), e.readNumbers(row), e.readTimes(row),
	} {
		if err != nil {
			return err
		}
	}
	return e.readStatus(row)
}

func (e *ImportItem) readNumbers(row *workcsv.Row) error {
	for _, c := range []struct {
		name, text string
		least      int
		into       *int
	}{
		{"priority", row.Priority, -1 << 31, &e.Priority},
		{"attempt", row.Attempt, 0, &e.Attempt},
		{"depth", cmp.Or(row.Depth.Text, "0"), 0, &e.Depth},
		{"onto_revised", cmp.Or(row.Revised.Text, "0"), 0, &e.Revised},
	} {
		n, err := strconv.ParseInt(c.text, 10, 32)
		if err != nil {
			return onto.Errorf(onto.Invalid, "%s: %.80q is not a whole number of 32 bits", c.name, c.text)
		}
		if *c.into = int(n); *c.into < c.least {
			return onto.Errorf(onto.Invalid, "%s: %d is less than %d", c.name, n, c.least)
		}
	}
	if e.Revised > e.Attempt {
		return onto.Errorf(onto.Invalid, "onto_revised: %d is more than the %d attempts", e.Revised, e.Attempt)
	}
	return nil
}

func (e *ImportItem) readTimes(row *workcsv.Row) (err error) {
	for _, c := range []struct {
		name, text string
		into       *time.Time
		must       bool
	}{
		{"created_at", row.CreatedAt, &e.Created, true},
		{"updated_at", row.UpdatedAt, &e.Updated, true},
		{"not_before", row.NotBefore.Text, &e.NotBefore, false},
		{"lease_until", row.LeaseUntil.Text, &e.Until, false},
	} {
		if c.text == "" && !c.must {
			continue
		}
		if *c.into, err = codec.ParseTimeLoosely(c.text); err != nil {
			return onto.Errorf(onto.Invalid, "%s: %w", c.name, err)
		}
	}
	e.Owner = row.LeaseOwner.Text
	return nil
}

func (e *ImportItem) readStatus(row *workcsv.Row) error {
	e.Status = onto.WorkStatus(row.Status)
	if !known(e.Status) {
		return onto.Errorf(onto.Invalid, "status: %.80q is not a status", row.Status).WithHint("use one of %v", onto.WorkStatuses())
	}
	return nil
}

// explained reports whether attempts are all that there were from some number on, and explain
// the item.
func (e *ImportItem) explained(list []onto.WorkAttempt) bool {
	var f attempts.Fate
	first := e.Attempt - len(list) + 1
	for n := range list {
		a := &list[n]
		diagnostic, err := canonicalObject("", a.Diagnostic)
		running := a.Status == onto.AttemptRunning && n < len(list)-1
		if a.Number != first+n || a.Started.IsZero() || attempts.Fault(a) != "" || running || err != nil || !textual(a.Worker, a.Run, a.Error, a.Class) {
			return false
		}
		a.Diagnostic = diagnostic
		f = f.Follow(a)
	}
	return first > 0 && f.Differs(&e.WorkItem) == ""
}

// canonicalObject is the canonical form of a JSON object; nil for no text.
func canonicalObject(what string, text json.RawMessage) (json.RawMessage, error) {
	if len(text) == 0 {
		return nil, nil
	}
	canonical, err := codec.AppendCanonical(nil, text)
	switch {
	case err != nil:
		return nil, onto.Errorf(onto.Invalid, "%s: it is no JSON object: %w", what, err)
	case codec.KindOf(canonical) != codec.Object:
		return nil, onto.Errorf(onto.Invalid, "%s: it is no JSON object, but a %s", what, codec.KindOf(canonical))
	case len(canonical) > onto.MaxMetadata:
		return nil, onto.Errorf(onto.TooLarge, "%s: it has %d bytes as JSON, the limit is %d", what, len(canonical), onto.MaxMetadata)
	}
	return canonical, nil
}

// maxStoredKey is more than the key of any item has.
const maxStoredKey = 16 * onto.MaxKey

// checkKey refuses what is no key of an item. Only that of a run has a control character.
func checkKey(key string) error {
	plain, run, ofRun := strings.Cut(key, "\x1frun=")
	switch {
	case key == "":
		return onto.Errorf(onto.Invalid, "dedupe_key is missing")
	case len(key) > maxStoredKey:
		return onto.Errorf(onto.TooLarge, "dedupe_key is %d bytes long, the limit is %d", len(key), maxStoredKey)
	case !utf8.ValidString(key):
		return onto.Errorf(onto.Invalid, "dedupe_key: %.80q is not valid UTF-8", key)
	case strings.ContainsFunc(plain+run, unicode.IsControl) || plain == "" || ofRun && run == "":
		return onto.Errorf(onto.Invalid, "dedupe_key: %.80q is no key of an item", key)
	}
	return nil
}

func checkMessage(s string) error {
	if len(s) > MaxBody {
		return onto.Errorf(onto.TooLarge, "error_message is %d bytes long, the limit is %d", len(s), MaxBody)
	}
	if !textual(s) {
		return onto.Errorf(onto.Invalid, "error_message is not text")
	}
	return nil
}

// textual reports whether all are valid UTF-8 without NUL.
func textual(list ...string) bool {
	return !slices.ContainsFunc(list, func(s string) bool { return !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0 })
}
