package s3

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// SetPause replaces the wait between two attempts.
func (b *Bucket) SetPause(pause func(ctx context.Context, attempt int) error) { b.pause = pause }

// Backoff is the wait between two attempts.
func Backoff(ctx context.Context, attempt int) error { return wait(ctx, attempt) }

// MaxAttempts is how often a read is tried.
const MaxAttempts = maxAttempts

// UsesChecksums reports whether requests carry optional checksums, and whether the
// bucket's name is in the path.
func (b *Bucket) UsesChecksums() (checksums, pathStyle bool) {
	o := b.client.Options()
	return o.RequestChecksumCalculation != aws.RequestChecksumCalculationWhenRequired, o.UsePathStyle
}
