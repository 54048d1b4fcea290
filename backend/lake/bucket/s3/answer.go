package s3

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
)

// answer is what the service said, without its prose.
type answer struct {
	status int
	code   string
	id     string // the service's name for the request
	region string // where the bucket is, if it said so
}

func (a *answer) Error() string {
	text := fmt.Sprintf("HTTP %d", a.status)
	if a.code != "" {
		text += " " + a.code
	}
	if a.id != "" {
		text += ", request " + a.id
	}
	return text
}

// answerOf returns the service's answer in an error, or nil if there was none.
func answerOf(err error) *answer {
	var re *smithyhttp.ResponseError
	if !errors.As(err, &re) || re.Response == nil || re.Response.Response == nil {
		return nil
	}
	if re.HTTPStatusCode() == 0 { // the library made it up for a failed exchange
		return nil
	}
	a := &answer{status: re.HTTPStatusCode()}
	a.id = word(re.Response.Header.Get("X-Amz-Request-Id"))
	a.region = word(re.Response.Header.Get("X-Amz-Bucket-Region"))
	var api smithy.APIError
	if errors.As(err, &api) {
		a.code = word(api.ErrorCode())
	}
	return a
}

// word returns s if it looks like a name, and "" otherwise.
func word(s string) string {
	if len(s) > 64 {
		return ""
	}
	for _, c := range []byte(s) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && c != '-' && c != '.' && c != '_' {
			return ""
		}
	}
	return s
}

// throttled reports whether the service asks the client to slow down. Any other 503
// says nothing about what was applied.
func (a *answer) throttled() bool {
	if a.status == http.StatusTooManyRequests {
		return true
	}
	switch a.code {
	case "SlowDown", "SlowDownRead", "SlowDownWrite", "Throttling", "ThrottlingException",
		"RequestLimitExceeded", "TooManyRequests", "TooManyRequestsException":
		return a.status == http.StatusServiceUnavailable || a.status == http.StatusBadRequest
	}
	return false
}

// badCredentials reports whether the service rejects the credentials, for which it has
// several statuses.
func (a *answer) badCredentials() bool {
	switch a.code {
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "TokenRefreshRequired", "XAdminUserNotFound":
		return true
	}
	return false
}

// errCredentials is within the error for credentials that the service does not
// accept.
var errCredentials = errors.New("the credentials were not accepted")

// wrote explains a failed conditional write; failed is the error for a condition that
// does not hold.
func (b *Bucket) wrote(r *request, verb, key string, failed, err error) error {
	if !r.sent.Load() {
		return b.unsent(r, verb, key, err)
	}
	what := fmt.Sprintf("%s %s", verb, b.where(key))
	a := answerOf(err)
	switch {
	case a == nil && unreached(err):
		return b.unreachable(verb, key, err)
	case a == nil:
		return fmt.Errorf("%s: %w: %w", what, bucket.ErrUnknown, b.cause(r, err))
	case a.status == http.StatusPreconditionFailed:
		return fmt.Errorf("%s: %w", what, failed)
	case a.status == http.StatusNotFound && a.code != "NoSuchBucket" && failed == bucket.ErrChanged:
		return fmt.Errorf("%s: %w", what, bucket.ErrNotFound)
	case a.status == http.StatusConflict:
		return fmt.Errorf("%s: %w (%w)", what, bucket.ErrConflict, a)
	case a.throttled():
		return fmt.Errorf("%s: %w (%w)", what, bucket.ErrThrottled, a)
	case a.status == http.StatusNotImplemented:
		return onto.Errorf(onto.Unsupported, "%s: the service has no conditional writes: %w", what, a).
			WithHint("use an S3 service that honours If-Match and If-None-Match, and try it").WithCommand("doctor", "s3")
	case a.status >= 500 || a.status < 300:
		// Below 300 the write was done and its answer could not be read.
		return fmt.Errorf("%s: %w: %w", what, bucket.ErrUnknown, a)
	}
	return b.refused(verb, key, a, true)
}

// read explains a failed read, listing or deletion. Errors that a retry may cure are
// marked as transient.
func (b *Bucket) read(r *request, verb, key string, err error) error {
	if !r.sent.Load() {
		return b.unsent(r, verb, key, err)
	}
	if ctxErr := r.caller.Err(); ctxErr != nil {
		return fmt.Errorf("%s %s: %w", verb, b.where(key), ctxErr)
	}
	what := fmt.Sprintf("%s %s", verb, b.where(key))
	a := answerOf(err)
	switch {
	case a == nil || a.status < 300:
		return b.broken(r, verb, key, err)
	case a.status == http.StatusNotModified:
		return fmt.Errorf("%s: %w", what, bucket.ErrNotModified)
	case a.status == http.StatusNotFound && a.code != "NoSuchBucket" && !a.badCredentials():
		return fmt.Errorf("%s: %w", what, bucket.ErrNotFound)
	case a.throttled():
		return &transient{fmt.Errorf("%s: %w (%w)", what, bucket.ErrThrottled, a)}
	case a.status == http.StatusConflict:
		return &transient{fmt.Errorf("%s: %w (%w)", what, bucket.ErrConflict, a)}
	case a.status >= 500 && a.status != http.StatusNotImplemented:
		return &transient{onto.Errorf(onto.Unavailable, "%s: the service failed: %w", what, a).
			WithHint("try again later, and look at the state of the service")}
	}
	return b.refused(verb, key, a, verb == verbDelete)
}

// broken explains a read without an answer, or with one that breaks off.
func (b *Bucket) broken(r *request, verb, key string, err error) error {
	if unreached(err) {
		return b.unreachable(verb, key, err)
	}
	if slow := r.timedOut(); slow != nil {
		return onto.Errorf(onto.Unavailable, "%s %s: %w", verb, b.where(key), slow).
			WithHint("check the network to %s, or raise s3_request_timeout_s", b.endpoint)
	}
	return &transient{onto.Errorf(onto.Unavailable, "%s %s: the connection broke: %w", verb, b.where(key), b.cause(r, err)).
		WithHint("check the network to %s and try again", b.endpoint)}
}

// refused explains an answer by which nothing was applied and a retry is of no use.
func (b *Bucket) refused(verb, key string, a *answer, write bool) error {
	what := fmt.Sprintf("%s %s", verb, b.where(key))
	switch {
	case a.status == http.StatusNotFound && a.code == "NoSuchBucket":
		return onto.Errorf(onto.Unavailable, "%s: there is no bucket %s: %w", what, b.name, a).
			WithHint("create the bucket, or correct the storage URI or s3_endpoint_url")
	case a.status == http.StatusForbidden || a.status == http.StatusUnauthorized || a.badCredentials():
		return b.denied(what, a, write)
	case a.status >= 300 && a.status < 400 || a.code == "AuthorizationHeaderMalformed":
		region := a.region
		if region == "" {
			region = "the bucket's region"
		}
		return onto.Errorf(onto.Invalid, "%s: the bucket is somewhere else: %w", what, a).
			WithHint("set s3_region to %s and s3_endpoint_url to the service that has the bucket", region)
	}
	return onto.Errorf(onto.Unavailable, "%s: the service refused: %w", what, a).
		WithHint("check s3_endpoint_url, s3_region and the credentials, and look the code up in the documentation of the service")
}

// denied tells wrong credentials from missing permissions, where the service
// does: its answer to the check of a bucket has no code.
func (b *Bucket) denied(what string, a *answer, write bool) error {
	const allow = "allow s3:GetObject, s3:PutObject, s3:DeleteObject and s3:ListBucket on the bucket; " +
		"without the last a missing object looks forbidden"
	switch {
	case a.badCredentials():
		return onto.Errorf(onto.Unavailable, "%s: %w: %w", what, errCredentials, a).
			WithHint("check the access key and the secret key, or renew the session")
	case a.code == "RequestTimeTooSkewed":
		return onto.Errorf(onto.Unavailable, "%s: the clock differs from the service's: %w", what, a).
			WithHint("set this machine's clock")
	case a.code == "AccessDenied" && write:
		return onto.Errorf(onto.ReadOnly, "%s: the credentials lack the permission: %w", what, a).WithHint(allow)
	case a.code == "AccessDenied":
		return onto.Errorf(onto.Unavailable, "%s: the credentials lack the permission: %w", what, a).WithHint(allow)
	}
	return onto.Errorf(onto.Unavailable, "%s: the credentials are wrong or lack the permission: %w", what, a).
		WithHint("check the access key, the secret key and this machine's clock; %s", allow)
}

// unsent explains a failure before the request was sent: nothing was applied.
func (b *Bucket) unsent(r *request, verb, key string, err error) error {
	if ctxErr := r.caller.Err(); ctxErr != nil {
		return fmt.Errorf("%s %s: %w", verb, b.where(key), ctxErr)
	}
	if errors.Is(context.Cause(r.ctx), errClosed) {
		return onto.Errorf(onto.Closed, "%s %s: %w", verb, b.where(key), errClosed)
	}
	var invalid smithy.InvalidParamsError
	if errors.As(err, &invalid) {
		return onto.Errorf(onto.Invalid, "%s %s: it is no valid request", verb, b.where(key)).
			WithHint("check the names of the bucket and of the object")
	}
	// The cause is left out: it may quote what a credentials program printed.
	return onto.Errorf(onto.Unavailable, "%s %s: no usable credentials or endpoint", verb, b.where(key)).
		WithHint("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile; " +
			"`aws sts get-caller-identity` in the same environment says what is wrong")
}

func (b *Bucket) unreachable(verb, key string, err error) error {
	return onto.Errorf(onto.Unavailable, "%s %s: the service cannot be reached: %w", verb, b.where(key), network(err)).
		WithHint("check that %s is right and running (s3_endpoint_url, s3_region)", b.endpoint)
}

// where names an object, or the bucket if there is no key.
func (b *Bucket) where(key string) string {
	if key == "" {
		return fmt.Sprintf("bucket %s at %s", b.name, b.endpoint)
	}
	return fmt.Sprintf("%s in bucket %s at %s", b.prefix+key, b.name, b.endpoint)
}

// unreached reports whether no connection was made, so that nothing was sent.
func unreached(err error) bool {
	var op *net.OpError
	dial := errors.As(err, &op) && op.Op == "dial" && !errors.Is(err, context.Canceled)
	return dial || insecure(err) != nil
}

// insecure returns why a connection could not be made secure, or nil.
func insecure(err error) error {
	var certificate *tls.CertificateVerificationError
	if errors.As(err, &certificate) {
		return certificate
	}
	if errors.Is(err, http.ErrSchemeMismatch) {
		return http.ErrSchemeMismatch
	}
	return nil
}

// cause returns why an exchange broke off.
func (b *Bucket) cause(r *request, err error) error {
	if ctxErr := r.caller.Err(); ctxErr != nil {
		return ctxErr
	}
	if slow := r.timedOut(); slow != nil {
		return slow
	}
	return network(err)
}

// network returns the innermost error that says what the network did. Those
// around it show addresses and what the service sent.
func network(err error) error {
	if why := insecure(err); why != nil {
		return why
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return op
	}
	for _, end := range []error{io.ErrUnexpectedEOF, io.EOF} {
		if errors.Is(err, end) {
			return end
		}
	}
	var u *url.Error
	if errors.As(err, &u) && u.Timeout() {
		return errNoAnswer
	}
	return errors.New("the answer cannot be read")
}
