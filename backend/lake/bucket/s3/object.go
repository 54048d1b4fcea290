package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
)

// What is done to an object, as errors say it.
const (
	verbOpen   = "open"
	verbRead   = "read"
	verbCreate = "create"
	verbSwap   = "replace"
	verbDelete = "delete"
	verbList   = "list"
)

// present fails unless the bucket exists and may be used.
func (b *Bucket) present(ctx context.Context) error {
	err := b.repeat(ctx, func() error {
		r := b.begin(ctx, 0)
		defer r.end()
		_, err := b.client.HeadBucket(r.ctx, &s3.HeadBucketInput{Bucket: aws.String(b.name)})
		if err != nil {
			return b.read(r, verbOpen, "", err)
		}
		return nil
	})
	if errors.Is(err, bucket.ErrNotFound) {
		// The answer has no text. Some services answer so for unknown credentials.
		if _, err := b.List(ctx, "", "", 1); errors.Is(err, errCredentials) {
			return err
		}
		return onto.Errorf(onto.NotFound, "there is no bucket %s at %s", b.name, b.endpoint).
			WithHint("create the bucket, or correct the storage URI or s3_endpoint_url")
	}
	return err
}

// Get implements [bucket.Bucket]. A part that begins beyond the end is empty.
func (b *Bucket) Get(ctx context.Context, key string, part bucket.Range, ifNot bucket.Tag) (bucket.Object, error) {
	var o bucket.Object
	if err := b.checkKey(verbRead, key); err != nil {
		return o, err
	}
	if _, _, err := part.Cut(0); err != nil {
		return o, onto.Errorf(onto.Invalid, "read %s: %w", b.where(key), err).
			WithHint("give an offset and a length of at least 0")
	}
	err := b.repeat(ctx, func() error {
		var err error
		o, err = b.get(ctx, key, part, ifNot)
		return err
	})
	if err != nil {
		return bucket.Object{}, err
	}
	return o, nil
}

func (b *Bucket) get(ctx context.Context, key string, part bucket.Range, ifNot bucket.Tag) (bucket.Object, error) {
	r := b.begin(ctx, 0)
	defer r.end()
	in := &s3.GetObjectInput{Bucket: aws.String(b.name), Key: aws.String(b.prefix + key), Range: rangeHeader(part)}
	if ifNot != "" {
		in.IfNoneMatch = aws.String(string(ifNot))
	}
	out, err := b.client.GetObject(r.ctx, in)
	if err != nil {
		if a := answerOf(err); a != nil && a.status == http.StatusRequestedRangeNotSatisfiable {
			return b.head(ctx, key, ifNot)
		}
		return bucket.Object{}, b.read(r, verbRead, key, err)
	}
	defer out.Body.Close()
	return b.receive(r, key, part, out)
}

// receive reads the body of an answer and checks it against the headers.
func (b *Bucket) receive(r *request, key string, part bucket.Range, out *s3.GetObjectOutput) (bucket.Object, error) {
	o := bucket.Object{Tag: bucket.Tag(aws.ToString(out.ETag))}
	if o.Tag == "" {
		return o, b.untagged(verbRead, key)
	}
	length := int64(-1)
	if out.ContentLength != nil {
		length = *out.ContentLength
		r.expect(length)
	}
	if err := part.Allows(announced(out)); err != nil {
		return o, fmt.Errorf("%s %s: %w", verbRead, b.where(key), err)
	}
	if part.Length > 0 && aws.ToString(out.ContentRange) == "" {
		return b.pick(r, key, part, o, out.Body, length)
	}
	data, err := io.ReadAll(bounded(out.Body, part))
	if err == nil && length >= 0 && int64(len(data)) != length {
		err = io.ErrUnexpectedEOF
	}
	if tooLarge := part.Allows(int64(len(data))); tooLarge != nil { // more came than was announced, or nothing was announced
		return o, fmt.Errorf("%s %s: %w", verbRead, b.where(key), tooLarge)
	}
	if err != nil {
		return o, b.read(r, verbRead, key, err)
	}
	o.Data, o.Size, err = chosen(data, part, aws.ToString(out.ContentRange))
	if err != nil {
		return o, onto.Errorf(onto.Unavailable, "read %s: %w", b.where(key), err).
			WithHint("use an S3 service that honours Range, and try it").WithCommand("doctor", "s3")
	}
	return o, nil
}

// announced is the size of the whole object by the headers of an answer; -1 if they do
// not have it.
func announced(out *s3.GetObjectOutput) int64 {
	if _, _, size, err := parseContentRange(aws.ToString(out.ContentRange)); err == nil {
		return size
	}
	if out.ContentLength != nil {
		return *out.ContentLength
	}
	return -1
}

// bounded is a body of which at most one byte more than the range allows is read.
func bounded(body io.Reader, part bucket.Range) io.Reader {
	most := part.Length
	if part.Max > 0 && (most == 0 || part.Max < most) {
		most = part.Max
	}
	if most == 0 {
		return body
	}
	return io.LimitReader(body, most+1)
}

// pick reads a part of an object of which a service sends all. It holds no more than
// the part.
func (b *Bucket) pick(r *request, key string, part bucket.Range, o bucket.Object, body io.Reader, length int64) (bucket.Object, error) {
	came, err := io.CopyN(io.Discard, body, part.Offset)
	if err == nil {
		o.Data, err = io.ReadAll(io.LimitReader(body, part.Length))
		came += int64(len(o.Data))
	} else if err == io.EOF {
		o.Data, err = []byte{}, nil
	}
	if o.Size = length; length < 0 && err == nil { // it is as long as what comes
		var rest int64
		rest, err = io.Copy(io.Discard, bounded(body, bucket.Range{Max: part.Max}))
		o.Size = came + rest
	}
	if _, to, _ := part.Cut(o.Size); err == nil && came < to {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return bucket.Object{}, b.read(r, verbRead, key, err)
	}
	if err := part.Allows(o.Size); err != nil {
		return bucket.Object{}, fmt.Errorf("%s %s: %w", verbRead, b.where(key), err)
	}
	return o, nil
}

// chosen returns the part of an object that was asked for, and the object's
// size. A service may send all of the object instead.
func chosen(data []byte, part bucket.Range, contentRange string) ([]byte, int64, error) {
	size := int64(len(data))
	if contentRange == "" {
		from, to, err := part.Cut(size)
		return data[from:to], size, err
	}
	first, last, size, err := parseContentRange(contentRange)
	if err != nil {
		return nil, 0, errors.New("the service does not say which part it sent")
	}
	from, to, err := part.Cut(size)
	if err == nil && (first != from || last != to-1 || int64(len(data)) != to-from) {
		err = fmt.Errorf("the service sent bytes %d to %d of %d, not %d to %d", first, last, size, from, to-1)
	}
	return data, size, err
}

// head stands in for a read of a part that begins beyond the end.
func (b *Bucket) head(ctx context.Context, key string, ifNot bucket.Tag) (bucket.Object, error) {
	r := b.begin(ctx, 0)
	defer r.end()
	in := &s3.HeadObjectInput{Bucket: aws.String(b.name), Key: aws.String(b.prefix + key)}
	if ifNot != "" {
		in.IfNoneMatch = aws.String(string(ifNot))
	}
	out, err := b.client.HeadObject(r.ctx, in)
	if err != nil {
		return bucket.Object{}, b.read(r, verbRead, key, err)
	}
	if aws.ToString(out.ETag) == "" {
		return bucket.Object{}, b.untagged(verbRead, key)
	}
	return bucket.Object{Data: []byte{}, Tag: bucket.Tag(*out.ETag), Size: aws.ToInt64(out.ContentLength)}, nil
}

// Create implements [bucket.Bucket].
func (b *Bucket) Create(ctx context.Context, key string, data []byte) (bucket.Tag, error) {
	return b.put(ctx, verbCreate, key, data, bucket.ErrExists, func(in *s3.PutObjectInput) {
		in.IfNoneMatch = aws.String("*")
	})
}

// Swap implements [bucket.Bucket].
func (b *Bucket) Swap(ctx context.Context, key string, data []byte, old bucket.Tag) (bucket.Tag, error) {
	// Without a tag the header would be left out, and the write unconditional.
	if old == "" {
		return "", onto.Errorf(onto.Invalid, "replace %s: no tag is given", b.where(key)).
			WithHint("read the object first and give its tag")
	}
	return b.put(ctx, verbSwap, key, data, bucket.ErrChanged, func(in *s3.PutObjectInput) {
		in.IfMatch = aws.String(string(old))
	})
}

// put sends one conditional write, once.
func (b *Bucket) put(ctx context.Context, verb, key string, data []byte, failed error, condition func(*s3.PutObjectInput)) (bucket.Tag, error) {
	if err := b.checkKey(verb, key); err != nil {
		return "", err
	}
	r := b.begin(ctx, len(data))
	defer r.end()
	in := &s3.PutObjectInput{
		Bucket:        aws.String(b.name),
		Key:           aws.String(b.prefix + key),
		Body:          bytes.NewReader(data),
		ContentLength: aws.Int64(int64(len(data))),
	}
	condition(in)
	out, err := b.client.PutObject(r.ctx, in)
	if err != nil {
		return "", b.wrote(r, verb, key, failed, err)
	}
	if aws.ToString(out.ETag) == "" {
		return "", fmt.Errorf("%w: %w", bucket.ErrUnknown, b.untagged(verb, key))
	}
	return bucket.Tag(*out.ETag), nil
}

// Delete implements [bucket.Bucket].
func (b *Bucket) Delete(ctx context.Context, key string) error {
	if err := b.checkKey(verbDelete, key); err != nil {
		return err
	}
	err := b.repeat(ctx, func() error {
		r := b.begin(ctx, 0)
		defer r.end()
		in := &s3.DeleteObjectInput{Bucket: aws.String(b.name), Key: aws.String(b.prefix + key)}
		if _, err := b.client.DeleteObject(r.ctx, in); err != nil {
			return b.read(r, verbDelete, key, err)
		}
		return nil
	})
	if errors.Is(err, bucket.ErrNotFound) {
		return nil
	}
	return err
}

// Sync implements [bucket.Bucket]. It sends nothing: an S3 service shows an object
// only after it has stored it durably.
func (b *Bucket) Sync(ctx context.Context, key string) error {
	if err := b.checkKey("sync", key); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return onto.Errorf(onto.Closed, "sync %s: %w", b.where(key), errClosed)
	}
	return ctx.Err()
}

func (b *Bucket) untagged(verb, key string) error {
	return onto.Errorf(onto.Unsupported, "%s %s: the service gave no ETag", verb, b.where(key)).
		WithHint("use an S3 service with ETags, and try it").WithCommand("doctor", "s3")
}

// checkKey refuses what must not reach the service: an empty key would be the
// bucket itself.
func (b *Bucket) checkKey(verb, key string) error {
	err := bucket.CheckKey(key)
	if err == nil && len(b.prefix)+len(key) > bucket.MaxKey {
		err = fmt.Errorf("the key %q... has more than %d bytes with the prefix", key[:min(len(key), 64)], bucket.MaxKey)
	}
	if err != nil {
		return onto.Errorf(onto.Invalid, "%s in bucket %s: %w", verb, b.name, err).
			WithHint("escape names before they become keys")
	}
	return nil
}

func rangeHeader(part bucket.Range) *string {
	switch {
	case part.Whole():
		return nil
	case part.Length == 0:
		return aws.String(fmt.Sprintf("bytes=%d-", part.Offset))
	}
	return aws.String(fmt.Sprintf("bytes=%d-%d", part.Offset, part.Offset+part.Length-1))
}

// parseContentRange reads "bytes 0-4/100".
func parseContentRange(s string) (first, last, size int64, err error) {
	rest, ok := strings.CutPrefix(s, "bytes ")
	span, total, ok2 := strings.Cut(rest, "/")
	from, to, ok3 := strings.Cut(span, "-")
	if !ok || !ok2 || !ok3 {
		return 0, 0, 0, strconv.ErrSyntax
	}
	first, err1 := strconv.ParseInt(from, 10, 64)
	last, err2 := strconv.ParseInt(to, 10, 64)
	size, err3 := strconv.ParseInt(total, 10, 64)
	return first, last, size, errors.Join(err1, err2, err3)
}
