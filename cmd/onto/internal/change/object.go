package change

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/terminal"
)

// object is a JSON object that was given, and where.
type object struct {
	text  json.RawMessage
	where string
}

// objects yields the JSON objects of arguments; "-" stands for those on stdin. Errors name
// the place.
func objects(ctx context.Context, c *session.Session, args []string) iter.Seq2[object, error] {
	return func(yield func(object, error) bool) {
		stdinUsed := false
		for i, arg := range args {
			more := false
			switch {
			case arg != "-":
				o := object{json.RawMessage(arg), fmt.Sprintf("argument %d", i+1)}
				more = yield(o, checkObject(o))
			case stdinUsed:
				yield(object{}, onto.Errorf(onto.Invalid, "- is given twice, but there is only one stdin"))
			default:
				stdinUsed = true
				more = readStream(c.Stdin(ctx), yield)
			}
			if !more {
				return
			}
		}
	}
}

// someObjects is the first objects of arguments, and whether there are more.
type someObjects struct {
	first []json.RawMessage
	more  bool

	places []string // of first
	next   func() (object, error, bool)
	stop   func()
}

// readSome reads up to most objects, and no more than a draft should hold in memory. Only
// stdin can have more: of arguments, that is an error.
func readSome(ctx context.Context, c *session.Session, args []string, most int) (*someObjects, error) {
	if n := len(args); n > most {
		return nil, tooMany(most)
	}
	in := &someObjects{}
	in.next, in.stop = iter.Pull2(objects(ctx, c, args))
	for size := 0; ; {
		o, err, ok := in.next()
		if err != nil {
			in.stop()
			return nil, err
		}
		if !ok {
			return in, nil
		}
		in.first, in.places = append(in.first, o.text), append(in.places, o.where)
		if size += len(o.text); len(in.first) > most || size > manyBytes {
			in.more = true
			return in, nil
		}
	}
}

// manyBytes is how much text of objects is held in memory.
const manyBytes = 4 << 20

// all yields the first objects, and then the rest. It can be called once.
func (in *someObjects) all() iter.Seq2[object, error] {
	return func(yield func(object, error) bool) {
		for i, text := range in.first {
			in.first[i] = nil // the caller has it
			if !yield(object{text, in.places[i]}, nil) {
				return
			}
		}
		in.first, in.places = nil, nil
		for {
			o, err, ok := in.next()
			if !ok || !yield(o, err) || err != nil {
				return
			}
		}
	}
}

// readObject returns the object of at most one argument; nil if there is none.
func readObject(ctx context.Context, c *session.Session, args []string) (json.RawMessage, error) {
	in, err := readSome(ctx, c, args, 1)
	if err != nil {
		return nil, err
	}
	defer in.stop()
	if in.more && len(in.first) == 1 { // it is large: what follows was not read
		_, err, in.more = in.next()
	}
	switch {
	case err != nil:
		return nil, err
	case in.more:
		return nil, tooMany(1)
	case len(in.first) == 0:
		return nil, nil
	}
	return in.first[0], nil
}

func tooMany(most int) error {
	return onto.Errorf(onto.TooLarge, "more than %s for one commit", terminal.Count(most, "object", "objects")).
		WithHint("give them on stdin, with - in place of the JSON, or raise max_batch_size in the configuration")
}

// readStream yields one object after the other, on lines of their own or not. It reports
// whether to go on after the last.
func readStream(r io.Reader, yield func(object, error) bool) bool {
	bounded := &boundedReader{r: r}
	dec := json.NewDecoder(bounded)
	bounded.taken = dec.InputOffset
	for n := 1; ; n++ {
		o := object{where: fmt.Sprintf("stdin, object %d", n)}
		err := dec.Decode(&o.text)
		switch {
		case errors.Is(err, io.EOF):
			return true
		case errors.Is(err, context.Canceled):
		case errors.Is(err, onto.TooLarge):
			err = onto.Errorf(onto.TooLarge, "%s is larger than %d bytes", o.where, maxObject).WithHint(objectHint)
		case err != nil:
			err = onto.Errorf(onto.Invalid, "%s: %w", o.where, err).WithHint(objectHint)
		default:
			err = checkObject(o)
		}
		if !yield(o, err) || err != nil {
			return false
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

// checkObject refuses a text that is no object.
func checkObject(o object) error {
	if _, err := codec.ParseObject(o.text); err != nil {
		return notObject(o.text, onto.Errorf(onto.Invalid, "%s: %w", o.where, err))
	}
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
