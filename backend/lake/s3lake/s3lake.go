// Package s3lake opens lakes in the buckets of S3 services. It is beside package lake since
// it is linked with the SDK of AWS.
package s3lake

import (
	"context"
	"os"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/s3"
)

// Opener opens lakes in buckets: s3://bucket/prefix. The service is that of the variables
// ONTO_S3_ENDPOINT_URL and ONTO_S3_REGION. What these leave open, and the credentials, are
// found where the tools of S3 services find them, such as AWS_PROFILE.
var Opener = backend.Opener{
	Schemes: []string{"s3"}, Forms: []string{"s3://bucket/prefix"},
	Open: open, Identity: identity,
}

func open(ctx context.Context, uri string, create bool) (backend.Backend, error) {
	a, err := addressOf(uri)
	if err != nil {
		return nil, err
	}
	b, err := s3.Open(ctx, s3.Options{
		Bucket: a.Bucket, Prefix: a.Prefix, Region: os.Getenv("ONTO_S3_REGION"), Endpoint: os.Getenv("ONTO_S3_ENDPOINT_URL"),
	})
	switch {
	case onto.CodeOf(err) == onto.NotFound: // the bucket, and not what a caller looks for
		return nil, onto.Errorf(onto.Unavailable, "%w", err)
	case err != nil:
		return nil, err // names the bucket
	}
	l, err := lake.Open(ctx, b, &lake.Options{MustExist: !create, Location: a.String()})
	if err != nil {
		return nil, a.Failed(err)
	}
	return l, nil
}

func identity(uri string) (string, error) {
	a, err := addressOf(uri)
	if err != nil {
		return "", err
	}
	return a.String(), nil
}

func addressOf(uri string) (bucket.Address, error) {
	if !strings.HasPrefix(uri, "s3://") {
		return bucket.Address{}, onto.Errorf(onto.Invalid, "the storage URI is not one of a bucket").WithHint("write s3://bucket/prefix")
	}
	return bucket.ParseURI(uri)
}
