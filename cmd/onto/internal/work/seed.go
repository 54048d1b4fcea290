package work

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/suggest"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/work"
)

func seedCommand(c *session.Session) *cobra.Command {
	var input string
	cmd := &cobra.Command{
		Use:   "seed --input FILE",
		Short: "Add items from JSON Lines",
		Long: `Seed adds the items of a file to the queue: one JSON object on each line, with the
columns of an item. Needed are source_system, source_name, resource_type, resource_id
and request_uri; there can be request_method, request_headers, request_body, metadata,
priority (lower numbers first, default 100), run_id, not_before, and scope, which is
forever or run. Items that are known change nothing.

All lines are checked before the first item is added: if one is wrong, none is. It
says how many were new.`,
		Example: `  onto work seed --input seeds.jsonl
  echo '{"source_system":"http","source_name":"docs","resource_type":"page","resource_id":"/","request_uri":"https://example.org/"}' | onto work seed --input -`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return seed(c, cmd, input) },
	}
	cmd.Flags().StringVar(&input, "input", "", "the `FILE` to read; - for stdin")
	return cmd
}

func seed(c *session.Session, cmd *cobra.Command, input string) error {
	in, err := openInput(cmd.Context(), c, input)
	if err != nil {
		return err
	}
	defer in.Close()
	items, err := readItems(in)
	if err != nil {
		return err
	}
	return with(c, cmd, place.Creating, func(ctx context.Context, q *work.Queue) error {
		fresh, err := q.Enqueue(ctx, items...)
		doc := document.Enqueued{Items: int64(len(items))}
		for _, f := range fresh {
			if f {
				doc.New++
			}
		}
		if err != nil {
			return onto.Errorf(onto.CodeOf(err), "%d of %s added: %w", len(fresh), terminal.Count(len(items), "item", "items"), err).
				WithHint("seed them again: items that were added change nothing")
		}
		doc.Known = doc.Items - doc.New
		if c.JSON {
			return c.Document(doc)
		}
		return c.Out.Line("%s: %d new, %d known", terminal.Count(doc.Items, "item", "items"), doc.New, doc.Known)
	})
}

// openInput opens the file of --input.
func openInput(ctx context.Context, c *session.Session, path string) (io.ReadCloser, error) {
	switch path {
	case "":
		return nil, onto.Errorf(onto.Invalid, "--input is missing").WithHint("name a file, or - for stdin")
	case "-":
		return io.NopCloser(c.Stdin(ctx)), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, onto.Errorf(onto.Invalid, "--input: %w", err)
	}
	return f, nil
}

// maxLine is more than an item can have, with escapes.
const maxLine = 8 << 20

// maxWrong is how many wrong lines are told.
const maxWrong = 20

// readItems reads all lines. The error tells about each that is wrong.
func readItems(in io.Reader) ([]work.Item, error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	var items []work.Item
	var wrong []error
	n := 0
	for lines.Scan() && len(wrong) < maxWrong {
		n++
		text := bytes.TrimSpace(lines.Bytes())
		if n == 1 {
			text = bytes.TrimPrefix(text, []byte("\ufeff"))
		}
		if len(text) == 0 {
			continue
		}
		item, err := parseItem(text)
		if err != nil {
			err := onto.Errorf(onto.CodeOf(err), "line %d: %w", n, err)
			wrong = append(wrong, err)
			continue
		}
		items = append(items, item)
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		wrong = append(wrong, onto.Errorf(onto.TooLarge, "line %d is longer than %d bytes", n+1, maxLine))
	} else if lines.Err() != nil {
		return nil, lines.Err()
	}
	return items, errors.Join(wrong...)
}

// line is an item as a line has it.
type line struct {
	work.Item
	Headers  column[map[string]string] `json:"request_headers"`
	Metadata column[map[string]any]    `json:"metadata"`
}

// column is an object, or a text with one as in the columns of a table.
type column[T any] struct{ value T }

// UnmarshalJSON implements [json.Unmarshaler].
func (c *column[T]) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(text, []byte(`"`)) {
		var inner string
		if err := json.Unmarshal(text, &inner); err != nil {
			return err
		}
		text = []byte(inner)
	}
	if !json.Valid(text) { // a decoder would not mind what follows the object
		return errNoObject
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if dec.Decode(&c.value) != nil {
		return errNoObject
	}
	return nil
}

var errNoObject = errors.New("it is no JSON object")

func parseItem(text []byte) (work.Item, error) {
	var names map[string]json.RawMessage
	if err := json.Unmarshal(text, &names); err != nil {
		return work.Item{}, onto.Errorf(onto.Invalid, "this is no JSON object: %w", err).WithHint(`write one object on each line, like {"source_system":"http",...}`)
	}
	for name := range names {
		if err := checkColumn(name); err != nil {
			return work.Item{}, err
		}
	}
	var l line
	for name, into := range map[string]json.Unmarshaler{"request_headers": &l.Headers, "metadata": &l.Metadata} {
		if value, ok := names[name]; ok && into.UnmarshalJSON(value) != nil {
			return work.Item{}, onto.Errorf(onto.Invalid, "%s is no JSON object", name)
		}
	}
	if err := json.Unmarshal(text, &l); err != nil {
		if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
			return work.Item{}, onto.Errorf(onto.Invalid, "%s cannot be a %s", strings.TrimPrefix(wrong.Field, "Item."), wrong.Value)
		}
		return work.Item{}, onto.Errorf(onto.Invalid, "a column cannot be read: %w", err)
	}
	l.Item.Headers, l.Item.Metadata = l.Headers.value, l.Metadata.value
	return l.Item, l.Item.Check()
}

// columns are the columns that a line can have.
func columns() []string {
	var names []string
	for f := range reflect.TypeFor[work.Item]().Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// decided are the columns that the queue fills in.
func decided() []string {
	return []string{"work_item_id", "status", "attempt", "discovered_from", "created_at", "updated_at", "error_message", "dedupe_key", "lease_owner", "lease_until", "depth"}
}

func checkColumn(name string) error {
	known := columns()
	if slices.Contains(known, name) {
		return nil
	}
	if slices.Contains(decided(), name) {
		return onto.Errorf(onto.Invalid, "%s is not for a new item: the queue decides it", name).
			WithHint("leave it out; to bring a queue over as it is, use work import")
	}
	err := onto.Errorf(onto.Invalid, "%.80q is no column of an item", name)
	if near := suggest.Name(name, known); near != "" {
		return err.WithHint("did you mean %s?", near)
	}
	return err.WithHint("the columns are %s", strings.Join(known, ", "))
}
