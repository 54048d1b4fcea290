package change

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/terminal"
)

// readObjects returns the JSON objects of arguments; "-" stands for those on stdin.
// Errors name the place.
func readObjects(ctx context.Context, c *session.Session, args []string, most int) ([]json.RawMessage, error) {
	var objects []json.RawMessage
	stdinUsed := false
	for i, arg := range args {
		var err error
		switch {
		case arg != "-":
			err = addObject(&objects, []byte(arg), most, fmt.Sprintf("argument %d", i+1))
		case stdinUsed:
			err = onto.Errorf(onto.Invalid, "- is given twice, but there is only one stdin")
		default:
			stdinUsed = true
			err = readStream(&objects, c.Stdin(ctx), most)
		}
		if err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// readStream takes one object after the other, on lines of their own or not.
func readStream(objects *[]json.RawMessage, r io.Reader, most int) error {
	bounded := &boundedReader{r: r}
	dec := json.NewDecoder(bounded)
	bounded.taken = dec.InputOffset
	for n := 1; ; n++ {
		where := fmt.Sprintf("stdin, object %d", n)
		var text json.RawMessage
		err := dec.Decode(&text)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if errors.Is(err, context.Canceled) {
			return err
		}
		if errors.Is(err, onto.TooLarge) {
			return onto.Errorf(onto.TooLarge, "%s is larger than %d bytes", where, maxObject).WithHint(objectHint)
		}
		if err != nil {
			return onto.Errorf(onto.Invalid, "%s: %w", where, err).WithHint(objectHint)
		}
		if err := addObject(objects, text, most, where); err != nil {
			return err
		}
	}
}

// maxObject bounds the text of one object: more than its canonical form may
// have, since that has neither spaces nor needless escapes.
const maxObject = 4 * onto.MaxFields

// boundedReader fails with TooLarge when much was read since the last object
// ended, so that an endless one does not fill the memory.
type boundedReader struct {
	r     io.Reader
	read  int64
	taken func() int64 // how much of it the objects so far have
}

// Read reads on unless the present object is too large.
func (b *boundedReader) Read(p []byte) (int, error) {
	if b.read-b.taken() > maxObject {
		return 0, onto.TooLarge
	}
	n, err := b.r.Read(p)
	b.read += int64(n)
	return n, err
}

const objectHint = `write objects like {"id":"c1","name":"Ada"}`

func addObject(objects *[]json.RawMessage, text []byte, most int, where string) error {
	if len(*objects) == most {
		return onto.Errorf(onto.TooLarge, "more than %s for one commit", terminal.Count(most, "object", "objects")).
			WithHint("split them, or raise max_batch_size in the configuration")
	}
	if _, err := codec.ParseObject(text); err != nil {
		return notObject(text, onto.Errorf(onto.Invalid, "%s: %w", where, err))
	}
	*objects = append(*objects, text)
	return nil
}

// notObject adds a hint to an error about a text, unless that is an object and its
// contents are the problem. Only malformed JSON gets the advice about quotes
// in a shell.
func notObject(text []byte, err *onto.Error) error {
	switch {
	case !json.Valid(text):
		return err.WithHint(objectHint + "; in a shell, put them in single quotes")
	case !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")):
		return err.WithHint(objectHint)
	}
	return err
}
