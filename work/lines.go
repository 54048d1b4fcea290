package work

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/workcsv"
)

// maxLine is more than an item and its attempts have.
const maxLine = 64 << 20

// ReadLines yields the items of JSON Lines, from their beginning: objects with the columns of
// work_items, and with attempts if these are known. It ends with the first line that is none.
func ReadLines(in io.ReadSeeker) iter.Seq2[ImportItem, error] {
	return func(yield func(ImportItem, error) bool) {
		if _, err := in.Seek(0, io.SeekStart); err != nil {
			yield(ImportItem{}, onto.Errorf(onto.Unavailable, "the file cannot be read from its beginning: %w", err))
			return
		}
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, maxLine)
		n := 0
		for lines.Scan() {
			n++
			text := bytes.TrimSpace(lines.Bytes())
			if n == 1 {
				text = bytes.TrimPrefix(text, []byte("\ufeff"))
			}
			if len(text) == 0 {
				continue
			}
			i, err := readLine(fmt.Sprintf("line %d", n), text)
			if !yield(i, err) || err != nil {
				return
			}
		}
		switch err := lines.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			yield(ImportItem{}, onto.Errorf(onto.TooLarge, "line %d is longer than %d bytes", n+1, maxLine))
		case err != nil:
			yield(ImportItem{}, onto.Errorf(onto.Unavailable, "the file cannot be read: %w", err))
		}
	}
}

// readLine reads an item.
func readLine(place string, text []byte) (ImportItem, error) {
	members, err := codec.ParseObject(text)
	if err != nil {
		return ImportItem{}, onto.Errorf(onto.Invalid, "%s: this is no JSON object: %w", place, err).
			WithHint("write one object on each line, or export the items again")
	}
	row := &workcsv.Row{}
	missing := map[string]bool{}
	for _, name := range workcsv.OriginalColumns() {
		missing[name] = true
	}
	var list []onto.WorkAttempt
	for _, m := range members {
		delete(missing, m.Name)
		if m.Name == "attempts" {
			if list, err = readAttempts(m.Value); err != nil {
				return ImportItem{}, onto.Errorf(onto.Invalid, "%s: attempts: %w", place, err)
			}
			continue
		}
		if err := setColumn(row, m); err != nil {
			return ImportItem{}, onto.Errorf(onto.Invalid, "%s: %w", place, err)
		}
	}
	for _, name := range workcsv.OriginalColumns() {
		if missing[name] {
			return ImportItem{}, onto.Errorf(onto.Invalid, "%s: the item has no %s", place, name).
				WithHint("new items are added by work seed; to bring a queue over, export it again")
		}
	}
	return NewImportItem(place, row, list), nil
}

// setColumn gives a column the value of a member. An object stands for its text.
func setColumn(row *workcsv.Row, m codec.Member) error {
	text := string(m.Value)
	switch codec.KindOf(m.Value) {
	case codec.Null:
		return nil
	case codec.String:
		if err := json.Unmarshal(m.Value, &text); err != nil {
			return err
		}
	case codec.Object, codec.Int, codec.Float:
	default:
		return onto.Errorf(onto.Invalid, "%.80s cannot be a %s", m.Name, codec.KindOf(m.Value))
	}
	if !row.Set(m.Name, text) {
		return onto.Errorf(onto.Invalid, "%.80q is no column of an item", m.Name)
	}
	return nil
}

// attemptLine is an attempt as a line has it.
type attemptLine struct {
	Number       int             `json:"number"`
	Worker       string          `json:"worker"`
	RunID        string          `json:"run_id"`
	StartedAt    string          `json:"started_at"`
	FinishedAt   string          `json:"finished_at"`
	Status       string          `json:"status"`
	RetryAfter   string          `json:"retry_after"`
	Error        string          `json:"error"`
	FailureClass string          `json:"failure_class"`
	Diagnostic   json.RawMessage `json:"diagnostic"`
}

func readAttempts(text []byte) ([]onto.WorkAttempt, error) {
	var lines []attemptLine
	if err := json.Unmarshal(text, &lines); err != nil {
		return nil, err
	}
	var list []onto.WorkAttempt
	for _, l := range lines {
		a := onto.WorkAttempt{
			Number: l.Number, Worker: l.Worker, Run: l.RunID, Status: onto.AttemptStatus(l.Status), Error: l.Error, Class: l.FailureClass, Diagnostic: l.Diagnostic,
		}
		if string(l.Diagnostic) == "null" {
			a.Diagnostic = nil
		}
		var err error
		if a.Started, err = codec.ParseTimeLoosely(l.StartedAt); err != nil {
			return nil, err
		}
		if l.FinishedAt != "" {
			a.Finished, err = codec.ParseTimeLoosely(l.FinishedAt)
		}
		if err == nil && l.RetryAfter != "" {
			a.RetryAfter, err = codec.ParseTimeLoosely(l.RetryAfter)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}
