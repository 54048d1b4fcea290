package s3

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
)

// A service answers with at most this many objects at a time.
const maxPage = 1000

// List implements [bucket.Bucket].
func (b *Bucket) List(ctx context.Context, prefix, after string, limit int) ([]bucket.Entry, error) {
	if err := bucket.CheckPrefix(prefix); err != nil {
		return nil, onto.Errorf(onto.Invalid, "list bucket %s: %w", b.name, err).
			WithHint("escape names before they become keys")
	}
	if limit < 1 {
		return nil, onto.Errorf(onto.Invalid, "list bucket %s: the limit %d is below 1", b.name, limit).
			WithHint("ask for at least one object")
	}
	var found []bucket.Entry
	var token *string
	for len(found) < limit {
		in := &s3.ListObjectsV2Input{
			Bucket:            aws.String(b.name),
			MaxKeys:           aws.Int32(int32(min(limit-len(found), maxPage))),
			ContinuationToken: token,
		}
		if full := b.prefix + prefix; full != "" {
			in.Prefix = aws.String(full)
		}
		if after != "" {
			in.StartAfter = aws.String(b.prefix + after)
		}
		page, err := b.page(ctx, in)
		if err != nil {
			return nil, err
		}
		last := after
		if len(found) > 0 {
			last = found[len(found)-1].Key
		}
		entries, err := b.entries(page, prefix, last)
		if err != nil {
			return nil, err
		}
		found = append(found, entries...)
		if !aws.ToBool(page.IsTruncated) {
			break
		}
		token = page.NextContinuationToken
		if aws.ToString(token) == "" || len(entries) == 0 {
			return nil, b.badList("a page says that there is more, but not where")
		}
	}
	return found[:min(len(found), limit)], nil
}

func (b *Bucket) page(ctx context.Context, in *s3.ListObjectsV2Input) (*s3.ListObjectsV2Output, error) {
	var page *s3.ListObjectsV2Output
	err := b.repeat(ctx, func() error {
		r := b.begin(ctx, 0)
		defer r.end()
		out, err := b.client.ListObjectsV2(r.ctx, in)
		if err != nil {
			return b.read(r, verbList, "", err)
		}
		page = out
		return nil
	})
	return page, err
}

// entries returns the objects of a page, whose keys must come after last.
func (b *Bucket) entries(page *s3.ListObjectsV2Output, prefix, last string) ([]bucket.Entry, error) {
	entries := make([]bucket.Entry, 0, len(page.Contents))
	for _, o := range page.Contents {
		key, ok := strings.CutPrefix(aws.ToString(o.Key), b.prefix)
		if !ok || !strings.HasPrefix(key, prefix) {
			return nil, b.badList("it has an object outside of the prefix")
		}
		if key <= last {
			return nil, b.badList("it is not in order of the keys")
		}
		last = key
		entries = append(entries, bucket.Entry{Key: key, Size: aws.ToInt64(o.Size), Modified: aws.ToTime(o.LastModified)})
	}
	return entries, nil
}

func (b *Bucket) badList(why string) error {
	return onto.Errorf(onto.Unsupported, "list %s: the service's listing cannot be used: %s", b.where(""), why).
		WithHint("use an S3 service that lists in order, and try it").WithCommand("doctor", "s3")
}
