package protocol

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
)

// peer is one process that uses a lake, with all that the protocol has.
type peer struct {
	*Publisher
	*Leases
	*Janitor
}

func newPeer(b bucket.Bucket, set Settings) *peer {
	p := NewPublisher(NewLog(b, set))
	return &peer{p, NewLeases(p), NewJanitor(p.Log, func(ctx context.Context, e bucket.Entry, _ onto.TypeName, _ string) (string, error) {
		o, err := b.Get(ctx, e.Key, bucket.Range{Max: max(1, e.Size)}, "")
		switch {
		case errors.Is(err, bucket.ErrNotFound):
			return "", nil
		case err != nil:
			return "", err
		}
		if _, err := decoded(o.Data); err != nil {
			return "it is not what its name says", nil
		}
		return "", nil
	})}
}

// row is a version in a data file, of which the protocol knows nothing.
type row struct {
	Commit int64
	Key    string
}

// encoded is a file of type T.
func encoded(rows []row) DataFile {
	body, err := json.Marshal(rows)
	if err != nil {
		panic(err)
	}
	return DataFile{Kind: onto.KindEntity, Type: "T", Version: 1, Rows: int64(len(rows)), Body: body}
}

// decoded reads a file of type T.
func decoded(body []byte) (rows []row, err error) {
	err = json.Unmarshal(body, &rows)
	return rows, err
}
