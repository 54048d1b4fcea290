package work

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// File is what [Directory] writes for a record, as JSON.
type File struct {
	Item        string          `json:"work_item_id"`
	System      string          `json:"source_system"`
	Source      string          `json:"source_name"`
	Type        string          `json:"resource_type"`
	ID          string          `json:"resource_id"`
	URI         string          `json:"request_uri"`
	URL         string          `json:"url"`
	Status      int             `json:"status,omitempty"`
	ContentType string          `json:"content_type,omitempty"`
	Fetched     time.Time       `json:"fetched_at"`
	JSON        json.RawMessage `json:"json,omitempty"`   // the body, if it is JSON
	Text        *string         `json:"text,omitempty"`   // if it is other text
	Base64      []byte          `json:"base64,omitempty"` // if it is neither
}

// MarshalJSON writes the time in the form that all times have.
func (f File) MarshalJSON() ([]byte, error) {
	type plain File
	return json.Marshal(struct {
		plain
		Fetched string `json:"fetched_at"`
	}{plain(f), codec.FormatTime(f.Fetched)})
}

// Directory is a writer of JSON files, one for each resource: DIR/SOURCE/TYPE/ID.json. In
// names, bytes other than a to z, 0 to 9, "-", "_" and dots within are written as % and two
// hexadecimal digits; long ones end with a hash. A file is replaced as a whole. The directory must
// exist; nothing outside of it is written, also through symbolic links.
func Directory(dir string) Writer {
	return WriterFunc(func(_ context.Context, r *Record) error {
		text, err := json.MarshalIndent(fileOf(r), "", "  ")
		if err != nil {
			return err
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return onto.Errorf(onto.Unavailable, "the directory for items of source %.200q: %w", r.Item.Source, err).WithHint("make the directory")
		}
		defer root.Close()
		folder := path.Join(fileName(r.Item.Source, ""), fileName(r.Item.Type, ""))
		if err := root.MkdirAll(folder, 0o777); err != nil {
			return err
		}
		// Named by the item, so that what a crash leaves is replaced by the next attempt.
		part := path.Join(folder, "."+fileName(r.Item.ID, ".part"))
		if err := replace(root, part, path.Join(folder, fileName(r.Item.Resource, ".json")), append(text, '\n')); err != nil {
			return errors.Join(err, ignoreMissing(root.Remove(part)))
		}
		return nil
	})
}

// replace writes a file under a name for the time being, and then gives it its own.
func replace(root *os.Root, part, name string, text []byte) error {
	f, err := root.Create(part)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return root.Rename(part, name)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func fileOf(r *Record) *File {
	i := r.Item
	f := &File{
		Item: i.ID, System: i.System, Source: i.Source, Type: i.Type, ID: i.Resource, URI: i.URI,
		URL: r.URL, Status: r.Status, ContentType: r.ContentType, Fetched: r.Fetched,
	}
	switch body, err := codec.AppendCanonical(nil, r.Body); {
	case len(r.Body) == 0:
	case err == nil:
		f.JSON = body
	case utf8.Valid(r.Body):
		s := string(r.Body)
		f.Text = &s
	default:
		f.Base64 = r.Body
	}
	return f
}

// maxFileName is how long names may be on usual file systems, in bytes.
const maxFileName = 255

// fileName makes a name for a file of any text. Different texts have different names, also
// where case does not count: upper case letters are escaped as well.
func fileName(s, extension string) string {
	const hexadecimal = "0123456789abcdef"
	var b strings.Builder
	for n := range len(s) {
		c := s[n]
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '_', c == '.' && n > 0 && n < len(s)-1:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hexadecimal[c>>4])
			b.WriteByte(hexadecimal[c&15])
		}
	}
	name := b.String()
	if most := maxFileName - 1 - len(".part"); len(name) > most {
		sum := sha256.Sum256([]byte(s))
		hash := "%%" + hex.EncodeToString(sum[:]) // no short name has two percent signs in a row
		name = name[:most-len(hash)] + hash
	}
	return name + extension
}
