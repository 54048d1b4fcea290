package work

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"mime"
	"net/url"
	"os"
	"path"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// DefaultMaxBytes is how large a resource may be.
const DefaultMaxBytes = 16 << 20

// FileOptions change how files are read. The zero value is the default.
type FileOptions struct {
	MaxBytes int64 // of a file; 0 for DefaultMaxBytes
}

// Files is a connector for files below a directory: that of the URI file:///a/b.jsonl is
// DIR/a/b.jsonl. Nothing outside of the directory is read, also through symbolic links. A
// file that has the size and time it had when its item was completed is not read again.
func Files(dir string, o *FileOptions) Connector {
	most := int64(DefaultMaxBytes)
	if o != nil && o.MaxBytes > 0 {
		most = o.MaxBytes
	}
	return ConnectorFunc(func(_ context.Context, i *onto.WorkItem) (*Record, error) {
		name, err := fileOfURI(i.URI)
		if err != nil {
			return nil, err
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, onto.Errorf(onto.Unavailable, "the directory of source %.200q: %w", i.Source, err)
		}
		defer root.Close()
		r, err := readFile(root, name, most, metadata(i))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, onto.Errorf(onto.NotFound, "file %.200q of source %.200q: %w", name, i.Source, err)
		}
		return r, err
	})
}

func fileOfURI(uri string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" {
		return "", onto.Errorf(onto.Invalid, "%.200q does not name a file", uri).WithHint("write file:///PATH, from the connector's directory")
	}
	name := strings.TrimPrefix(path.Clean("/"+u.Path), "/")
	if name == "" || !fs.ValidPath(name) {
		return "", onto.Errorf(onto.Invalid, "%.200q does not name a file", uri).WithHint("write file:///PATH, from the connector's directory")
	}
	return name, nil
}

func readFile(root *os.Root, name string, most int64, known map[string]any) (*Record, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, onto.Errorf(onto.Invalid, "%.200q is not a file with contents", name)
	}
	etag := fmt.Sprintf("%d-%d", info.ModTime().UnixMicro(), info.Size())
	r := &Record{ContentType: mime.TypeByExtension(path.Ext(name)), Metadata: map[string]any{metaETag: etag}}
	if known[metaETag] == etag {
		r.NotModified = true
		return r, nil
	}
	if r.Body, err = io.ReadAll(io.LimitReader(f, most+1)); err != nil {
		return nil, err
	}
	if int64(len(r.Body)) > most {
		return nil, onto.Errorf(onto.TooLarge, "file %.200q has more than %d bytes", name, most).WithHint("raise FileOptions.MaxBytes, or split the file")
	}
	return r, nil
}

// The metadata that connectors keep for the next time.
const (
	metaETag         = "etag"
	metaLastModified = "last_modified"
	metaValidated    = "validated_url"
)

// metadata is that of an item. What is not a JSON object, which is damage, is none.
func metadata(i *onto.WorkItem) map[string]any {
	if len(i.Metadata) == 0 {
		return nil
	}
	m, err := codec.DecodeObject(i.Metadata)
	if err != nil {
		return nil
	}
	return m
}

// Lines yields the lines of a record in the format JSON Lines, without empty ones. The
// error for one that is not JSON has its number and is the last.
func Lines(r *Record) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		lines := bufio.NewScanner(bytes.NewReader(bytes.TrimPrefix(r.Body, []byte("\ufeff"))))
		lines.Buffer(nil, len(r.Body)+1)
		for n := 1; lines.Scan(); n++ {
			line := bytes.TrimSpace(lines.Bytes())
			if len(line) == 0 {
				continue
			}
			text, err := codec.AppendCanonical(nil, line)
			if err != nil {
				yield(nil, onto.Errorf(onto.Invalid, "line %d of %.200q is not JSON: %w", n, r.URL, err))
				return
			}
			if !yield(text, nil) {
				return
			}
		}
	}
}
