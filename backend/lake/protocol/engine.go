package protocol

import (
	"context"
	"errors"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
)

// EngineKey is where a lake says which program keeps it. Other programs with such an
// object look there before they read anything else.
const EngineKey = "meta/engine.json"

const engineBody = `{"engine_version":"onto-go"}`

// FitsEngine reports whether an object says that this program keeps the lake.
func FitsEngine(body []byte) bool { return string(body) == engineBody }

// MarkEngine writes the object where there is none. Only other programs need it, so what
// is there is not looked at.
func (l *Publisher) MarkEngine(ctx context.Context) error {
	_, err := l.b.Create(ctx, EngineKey, []byte(engineBody))
	if errors.Is(err, bucket.ErrExists) {
		return nil
	}
	return err
}

// claim writes the object before a lake is made. It fails where another program keeps
// something.
func (l *Publisher) claim(ctx context.Context) error {
	o, err := l.b.Get(ctx, EngineKey, bucket.Range{Max: MaxSmall}, "")
	if errors.Is(err, bucket.ErrTooLarge) || err == nil && !FitsEngine(o.Data) {
		return onto.Errorf(onto.Unsupported, "%s: another program keeps its data here", EngineKey).
			WithHint("name another bucket or prefix")
	}
	return l.Create(ctx, Object{EngineKey, []byte(engineBody)})
}
