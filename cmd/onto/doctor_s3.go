package main

import (
	"context"
	"crypto/rand"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/file"
	"github.com/ontologia/onto/backend/lake/bucket/probe"
	"github.com/ontologia/onto/backend/lake/bucket/s3"
)

func (c *command) doctorS3Command() *cobra.Command {
	return &cobra.Command{
		Use:   "s3 URI",
		Short: "Find out whether a bucket can be trusted with a lake",
		Long: `Probe a bucket: does it refuse to create an object twice, to replace one that has
changed, and is there one winner when many try at once? Only then can writers on
several machines share it. What the probe writes it removes again.

The URI is s3://BUCKET/PREFIX, or file:///DIRECTORY for one on disk. The region
and endpoint of the service are the settings s3_region and s3_endpoint_url;
credentials are found where the service's own tools find them. Exit status 3 if the
bucket cannot be trusted.`,
		Example: `  onto doctor s3 s3://my-bucket/crm
  ONTO_S3_ENDPOINT_URL=http://127.0.0.1:7070 onto doctor s3 s3://things --json
  onto doctor s3 file:///var/lib/crm`,
		Args: argCount(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.probeBucket(cmd.Context(), args[0]) },
	}
}

// probeRow is one check of a bucket.
type probeRow struct {
	Check   string        `json:"check"`
	Verdict probe.Verdict `json:"verdict"`
	Seen    string        `json:"seen"`
	Meaning string        `json:"meaning"`
}

func (r probeRow) cells() ([]string, error) {
	return []string{string(r.Verdict), r.Check, r.Seen, r.Meaning}, nil
}

func (c *command) probeBucket(ctx context.Context, uri string) error {
	cfg, err := c.configure()
	if err != nil {
		return err
	}
	b, err := openBucket(ctx, cfg, uri)
	if err != nil {
		return err
	}
	defer b.Close()
	report, err := probe.Probe(ctx, b, "onto-probe-"+strings.ToLower(rand.Text()[:12]))
	if err != nil {
		return err
	}
	out := c.rows(wholeColumns("verdict", "check", "seen", "meaning"))
	failed := 0
	for _, check := range report.Checks {
		if check.Verdict == probe.Failed {
			failed++
		}
		if err := out.add(probeRow{check.Name, check.Verdict, check.Seen, check.Meaning}); err != nil {
			return err
		}
	}
	if err := out.close("no checks were made"); err != nil {
		return err
	}
	if report.Err() == nil {
		c.say("the bucket can be trusted with a lake")
		return nil
	}
	return onto.Errorf(checkFailed, "the bucket cannot be trusted with a lake: %s failed", count(failed, "check", "checks")).
		WithHint("use storage with conditional writes that can be relied on")
}

// openBucket opens the bucket that a URI names. Messages repeat no more of it
// than the scheme, since the rest may hold a password.
func openBucket(ctx context.Context, cfg configuration, uri string) (bucket.Bucket, error) {
	const forms = "write s3://BUCKET/PREFIX or file:///DIRECTORY"
	u, err := url.Parse(uri)
	if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, onto.Errorf(onto.Invalid, "the URI of the bucket is not one of a bucket").WithHint(forms)
	}
	switch {
	case u.Scheme == "file" && u.Host == "" && u.Path != "":
		b, err := file.Open(u.Path, nil)
		if err != nil {
			return nil, onto.Errorf(onto.Unavailable, "%w", err).WithHint("make the directory first")
		}
		return b, nil
	case u.Scheme == "s3" && u.Host != "":
		b, err := s3.Open(ctx, s3.Options{
			Bucket: u.Host, Prefix: strings.Trim(u.Path, "/"), Region: cfg.text("s3_region"), Endpoint: cfg.text("s3_endpoint_url"),
			RequestTimeout: time.Duration(cfg.number("s3_request_timeout_s")) * time.Second,
		})
		if err != nil {
			return nil, err
		}
		return b, nil
	}
	return nil, onto.Errorf(onto.Invalid, "the URI of the bucket is not one of a bucket").WithHint(forms)
}

// text returns the value of a setting that is text.
func (cfg configuration) text(name string) string {
	for _, l := range cfg {
		if text, ok := l.values[name]; ok {
			return text
		}
	}
	s, _ := settingOf("", name)
	return s.text
}
