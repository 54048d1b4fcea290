// Package s3 keeps a lake's objects in a bucket of an S3 service.
//
// The service must have conditional writes: If-None-Match and If-Match on PutObject. A
// conditional write is sent once and never repeated here, neither by this package nor
// by the client library, since the repetition of a write whose answer was lost would
// lose against the first one. Reads, listings and deletions are repeated a few times
// when the service throttles.
//
// Errors name the bucket, the endpoint and the object. They are made here from
// the status and the code of an answer: text of the service, of the client
// library or of credential programs could hold a secret and is not passed on.
package s3

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
)

// The defaults of Options.
const (
	DefaultRegion         = "us-east-1" // with an endpoint
	DefaultRequestTimeout = 10 * time.Second
)

// Options says where a bucket is and with which credentials it is used.
type Options struct {
	// Bucket is the bucket's name. It must exist.
	Bucket string

	// Prefix goes before every key, as a folder: "lake" and "lake/" are the
	// same. The bucket that Open returns sees nothing outside of it.
	Prefix string

	// Region is the bucket's region. Without one it is that of the environment
	// or, with an endpoint, DefaultRegion.
	Region string

	// Endpoint is the service's address, such as http://127.0.0.1:7070. Without
	// one it is that of the environment, or AWS.
	Endpoint string

	// PathStyle puts the bucket's name into the path of a request and not into
	// its host name. It is always so with an endpoint that is not AWS's own.
	PathStyle bool

	// AccessKey and SecretKey are the credentials. Without them the usual places
	// are searched: the environment, shared files, the machine's role.
	AccessKey, SecretKey string

	// RequestTimeout is for each request, beside what its body may take at
	// 1 MiB per second. The default is DefaultRequestTimeout.
	RequestTimeout time.Duration

	// HTTPClient sends the requests, if it is not nil. Redirects are not
	// followed, whatever it says about them.
	HTTPClient *http.Client
}

// Bucket is a [bucket.Bucket] in an S3 service.
type Bucket struct {
	client   *s3.Client
	web      *http.Client
	owned    bool // web was made by Open
	name     string
	prefix   string // "" or with a slash at the end
	endpoint string // as shown in errors
	timeout  time.Duration
	pause    func(ctx context.Context, attempt int) error

	mu     sync.Mutex // guards what follows
	calls  int        // exchanges under way
	closed bool
}

var _ bucket.Bucket = (*Bucket)(nil)

// Open returns a bucket after the service has said that it exists and may be
// used with the credentials.
func Open(ctx context.Context, o Options) (*Bucket, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	b := &Bucket{
		name:    o.Bucket,
		prefix:  folder(o.Prefix),
		timeout: o.RequestTimeout,
		pause:   wait,
	}
	if b.timeout == 0 {
		b.timeout = DefaultRequestTimeout
	}
	b.web, b.owned = webClient(o.HTTPClient)
	cfg, err := o.load(ctx)
	if err != nil {
		return nil, err
	}
	b.client = s3.NewFromConfig(cfg, func(c *s3.Options) { o.apply(c, b.web) })
	b.endpoint = shownEndpoint(b.client.Options())
	if err := b.present(ctx); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// Close drops idle connections, and those of exchanges under way when they end.
// Later ones fail with Closed.
func (b *Bucket) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.dropIdle()
	return nil
}

func (b *Bucket) dropIdle() {
	if b.owned {
		b.web.CloseIdleConnections()
	}
}

func (o Options) check() error {
	switch {
	case o.Bucket == "" || strings.ContainsAny(o.Bucket, "/?# \\"):
		return onto.Errorf(onto.Invalid, "%q is not the name of an S3 bucket", o.Bucket).
			WithHint("give the storage as s3://bucket/prefix")
	case (o.AccessKey == "") != (o.SecretKey == ""):
		return onto.Errorf(onto.Invalid, "bucket %s: an access key and a secret key are given together or not at all", o.Bucket).
			WithHint("set both, or neither to use the credentials of the environment")
	case o.RequestTimeout < 0:
		return onto.Errorf(onto.Invalid, "bucket %s: the request timeout %s is negative", o.Bucket, o.RequestTimeout).
			WithHint("set s3_request_timeout_s to a positive number of seconds")
	case o.Endpoint == "":
		return nil
	}
	// The address itself may hold a password, so it is not shown.
	u, err := url.Parse(o.Endpoint)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" ||
		u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return onto.Errorf(onto.Invalid, "bucket %s: the S3 endpoint is not an address such as https://host:port", o.Bucket).
			WithHint("correct s3_endpoint_url; credentials do not belong into it")
	}
	return nil
}

// load reads the environment and the shared files, under what the options say.
func (o Options) load(ctx context.Context) (aws.Config, error) {
	var with []func(*config.LoadOptions) error
	if o.Region != "" {
		with = append(with, config.WithRegion(o.Region))
	}
	if o.AccessKey != "" {
		with = append(with, config.WithCredentialsProvider(
			credentials.NewStaticCredentialsProvider(o.AccessKey, o.SecretKey, "")))
	}
	cfg, err := config.LoadDefaultConfig(ctx, with...)
	if err != nil {
		if ctx.Err() != nil {
			return cfg, ctx.Err()
		}
		return cfg, onto.Errorf(onto.Invalid, "bucket %s: the AWS configuration of the environment cannot be read", o.Bucket).
			WithHint("check AWS_PROFILE and the files in ~/.aws; `aws configure list` says what is wrong")
	}
	if cfg.Region == "" && o.Endpoint == "" && cfg.BaseEndpoint == nil {
		return cfg, onto.Errorf(onto.Invalid, "bucket %s: no region is known", o.Bucket).
			WithHint("set s3_region or AWS_REGION to the bucket's region")
	}
	return cfg, nil
}

// apply sets what this package relies on, whatever the environment says.
func (o Options) apply(c *s3.Options, web *http.Client) {
	if o.Endpoint != "" {
		c.BaseEndpoint = aws.String(o.Endpoint)
	}
	if c.Region == "" {
		c.Region = DefaultRegion
	}
	c.UsePathStyle = o.PathStyle
	c.HTTPClient = sender{web}
	c.Retryer = aws.NopRetryer{}
	c.RetryMaxAttempts = 1
	c.ClientLogMode = 0
	c.Logger = logging.Nop{}
	c.DisableLogOutputChecksumValidationSkipped = true
	if !isAWS(aws.ToString(c.BaseEndpoint)) {
		c.UsePathStyle = true
		c.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		c.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	}
}

// isAWS reports whether an endpoint is AWS's own, which knows every checksum.
func isAWS(endpoint string) bool {
	if endpoint == "" {
		return true
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	return strings.HasSuffix(host, ".amazonaws.com") || strings.HasSuffix(host, ".amazonaws.com.cn")
}

func shownEndpoint(o s3.Options) string {
	u, err := url.Parse(aws.ToString(o.BaseEndpoint))
	if err != nil || u.Host == "" {
		return "AWS in " + o.Region
	}
	return u.Scheme + "://" + u.Host
}

// folder makes a prefix end in a slash, unless it is empty.
func folder(prefix string) string {
	prefix = strings.Trim(prefix, "/")
	if prefix == "" {
		return ""
	}
	return prefix + "/"
}

// webClient returns a client that follows no redirects: a redirected write would
// be a second one, with a signature for another place.
func webClient(given *http.Client) (*http.Client, bool) {
	web := &http.Client{}
	if given != nil {
		*web = *given
	} else {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxIdleConnsPerHost = 64
		transport.DisableCompression = true
		web.Transport = transport
	}
	web.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return web, given == nil
}
