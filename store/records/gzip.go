package records

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
	"strings"

	"github.com/ontologia/onto"
)

// packed is how the name of a file ends whose text is packed with gzip.
const packed = ".gz"

// Unpack returns the text of an import's file, whose name tells whether it is packed. A
// file that unpacks to far more than records do is refused.
func Unpack(file string, r io.Reader) (io.Reader, error) {
	if !strings.HasSuffix(strings.ToLower(file), packed) {
		return r, nil
	}
	u := &unpacker{file: file}
	u.packed.r = r
	var err error
	if u.gz, err = gzip.NewReader(&u.packed); err != nil {
		return nil, u.explain(err)
	}
	return u, nil
}

// Pack returns a writer for an export's file, packing what is written if the
// name of the file says so. Closing it writes the rest, and leaves w open.
func Pack(file string, w io.Writer) io.WriteCloser {
	if strings.HasSuffix(strings.ToLower(file), packed) {
		return gzip.NewWriter(w)
	}
	return openWriter{w}
}

// openWriter is a writer that stays open.
type openWriter struct{ io.Writer }

func (openWriter) Close() error { return nil }

// A file that unpacks to more than trusted, and to more than maxRatio times
// its own size, was made to fill memory and disks. JSON packs 5 to 50 times.
const (
	trusted  = 64 << 20
	maxRatio = 250
)

// unpacker unpacks and compares what goes in with what comes out.
type unpacker struct {
	file   string
	packed tally
	gz     *gzip.Reader
	out    int64
}

// tally counts what is read.
type tally struct {
	r io.Reader
	n int64
}

func (t *tally) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	t.n += int64(n)
	return n, err
}

// Read unpacks more.
func (u *unpacker) Read(p []byte) (int, error) {
	n, err := u.gz.Read(p)
	u.out += int64(n)
	if u.out > trusted && u.out/maxRatio > u.packed.n {
		return 0, onto.Errorf(onto.TooLarge, "%s: it unpacks to more than %d times its size", u.file, maxRatio).
			WithHint("if that is meant, unpack it first")
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return n, u.explain(err)
	}
	return n, err
}

// explain says what is wrong with a file that does not unpack. Errors of the
// reader below stay as they are.
func (u *unpacker) explain(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, gzip.ErrHeader) && u.out == 0:
		return onto.Errorf(onto.Invalid, "%s: this is not gzip", u.file).WithHint("only packed files have names that end in .gz")
	case errors.Is(err, gzip.ErrHeader):
		return u.damaged("something else follows the packed data")
	case errors.Is(err, gzip.ErrChecksum):
		return u.damaged("the checksum of the packed data is wrong")
	case errors.As(err, &corrupt):
		return u.damaged("the packed data cannot be read")
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return u.damaged("the packed data ends too early")
	}
	return err
}

func (u *unpacker) damaged(how string) error {
	return onto.Errorf(onto.Invalid, "%s: %s", u.file, how).WithHint("get the file again: it is damaged")
}
