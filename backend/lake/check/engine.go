package check

import (
	"errors"
	"fmt"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/audit"
)

// engine looks at the object that tells other programs whose lake it is. An older lake
// has none until the next commit.
func (c *checker) engine() error {
	o, err := c.lake.Bucket.Get(c.ctx, protocol.EngineKey, bucket.Range{Max: protocol.MaxSmall}, "")
	switch {
	case errors.Is(err, bucket.ErrNotFound) || err == nil && protocol.FitsEngine(o.Data):
		return nil
	case errors.Is(err, bucket.ErrRefused):
		return err // it names the object
	case err != nil && !errors.Is(err, bucket.ErrTooLarge):
		return fmt.Errorf("%s: %w", protocol.EngineKey, err)
	}
	f := audit.ObjectDamaged.Finding("%s: it does not say that this program keeps the lake, so another one may write here", protocol.EngineKey)
	f.Remedy = onto.NewHint("remove the object: the next program that commits writes it anew")
	return c.push(f)
}
