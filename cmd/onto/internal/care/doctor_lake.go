package care

import (
	"cmp"
	"context"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/upkeep"
)

// whatIsLeft is what can be looked at of a lake that cannot be opened.
type whatIsLeft struct{}

func (whatIsLeft) String() string { return "what is left of the lake; it cannot be opened" }

// examineUnopened examines a lake that could not be opened since objects are missing or
// damaged. If opening failed for another reason, it fails with that error.
func (d *doctor) examineUnopened(ctx context.Context, loc place.Location, cfg place.Settings, found *findings, failed error) error {
	before := found.n
	switch onto.CodeOf(failed) {
	case onto.Corrupt, onto.Unsupported, onto.Uninitialized: // without a head there seems to be something else, or nothing
	default:
		return failed
	}
	if !loc.IsLake() || d.checkpoint {
		return failed
	}
	show, done := d.Steps()
	defer done()
	b, set, err := loc.Lake.Unopened(ctx, cfg)
	if err != nil {
		return failed
	}
	for f, err := range lake.CheckBucket(ctx, b, lakeOptions(set), &lake.CheckOptions{Quick: d.quick, Step: show}) {
		switch code := onto.CodeOf(err); {
		case code == onto.Uninitialized || code == onto.Unsupported:
			return failed
		case err != nil:
			return loc.Lake.Failed(err)
		}
		done()
		explained := upkeep.Explain(f)
		explained.Explanation = cmp.Or(f.Explanation, explained.Explanation)
		if err := found.add(explained); err != nil {
			return err
		}
	}
	if found.n == before { // repaired meanwhile
		return failed
	}
	return nil
}
