package care

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket/probe"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
)

func doctorS3Command(c *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "s3 [URI]",
		Short: "Find out whether a bucket can be trusted with a lake",
		Long: `Probe a bucket: does it refuse to create an object twice, to replace one that has
changed, and is there one winner when many try at once? Only then can writers on
several machines share it. What the probe writes it removes again.

The URI is s3://BUCKET/PREFIX, or file:///DIRECTORY for one on disk; without it
the bucket is that of the lake which --storage-uri or a setting names. The region
and endpoint of the service are the settings s3_region and s3_endpoint_url;
credentials are found where the service's own tools find them. Exit status 3 if the
bucket cannot be trusted.`,
		Example: `  onto doctor s3 s3://my-bucket/crm
  ONTO_S3_ENDPOINT_URL=http://127.0.0.1:7070 onto doctor s3 s3://things --json
  onto doctor s3 --storage-uri file:///var/lib/crm`,
		Args: session.ArgCount(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return probeBucket(cmd.Context(), c, args) },
	}
}

func probeBucket(ctx context.Context, c *session.Session, args []string) error {
	cfg, err := c.Configure()
	if err != nil {
		return err
	}
	a, err := bucketToProbe(cfg, args)
	if err != nil {
		return err
	}
	report, err := a.Probe(ctx, cfg)
	if err != nil {
		return err
	}
	out := terminal.Rows(c.Printer, terminal.WholeColumns("verdict", "check", "seen", "meaning"), newProbed, probeCells)
	failed := 0
	for _, check := range report.Checks {
		if check.Verdict == probe.Failed {
			failed++
		}
		if err := out.Add(check); err != nil {
			return err
		}
	}
	if err := out.Close("no checks were made"); err != nil {
		return err
	}
	if report.Err() == nil {
		c.Say("the bucket can be trusted with a lake")
		return nil
	}
	return onto.Errorf(document.CheckFailed, "the bucket cannot be trusted with a lake: %s failed", terminal.Count(failed, "check", "checks")).
		WithHint("use storage with conditional writes that can be relied on")
}

// bucketToProbe is where a URI says, or the lake that is configured.
func bucketToProbe(cfg place.Settings, args []string) (place.LakeAddress, error) {
	loc, err := cfg.Location()
	if len(args) > 0 {
		loc, err = place.ParseURI(args[0])
	}
	if err != nil {
		return place.LakeAddress{}, err
	}
	if !loc.IsLake() {
		return place.LakeAddress{}, onto.Errorf(onto.UnsupportedOperation, "doctor s3 looks at a bucket, and a SQLite file is none").
			WithHint("write s3://BUCKET/PREFIX or file:///DIRECTORY")
	}
	return loc.Lake, nil
}

func newProbed(c probe.Check) document.Probed {
	return document.Probed{Check: c.Name, Verdict: string(c.Verdict), Seen: c.Seen, Meaning: c.Meaning}
}

func probeCells(c probe.Check) ([]string, error) {
	return []string{string(c.Verdict), c.Name, c.Seen, c.Meaning}, nil
}
