package transfer

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/place"
)

// sourceFlags is what the source of a copy is asked to change.
type sourceFlags struct{}

func (f *sourceFlags) register(cmd *cobra.Command) {}

// text is the flags as the target records them.
func (f *sourceFlags) text() string { return "" }

// words is the flags for a command line.
func (f *sourceFlags) words() []string { return nil }

// openSource opens what is copied.
func (k *copying) openSource(ctx context.Context) (backend.LogSource, error) {
	b, err := k.OpenAt(ctx, place.Reading, k.source, k.cfg)
	if err != nil {
		return nil, err
	}
	k.released = append(k.released, b)
	return asArchive(b, k.source)
}
