package s3lake_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket/s3/s3fake"
	"github.com/ontologia/onto/backend/lake/s3lake"
)

func TestOpener(t *testing.T) {
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	t.Setenv("AWS_CONFIG_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("ONTO_S3_ENDPOINT_URL", s3fake.Serve(t, "things"))

	openers := []backend.Opener{lake.Opener, s3lake.Opener}
	if _, err := backend.OpenURI(t.Context(), "s3://things/crm", false, openers...); !errors.Is(err, onto.Uninitialized) {
		t.Fatalf("without create: %v", err)
	}
	b, err := backend.OpenURI(t.Context(), "s3://things/crm/", true, openers...)
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
	if b, err = backend.OpenURI(t.Context(), "s3://things/crm", false, openers...); err != nil {
		t.Fatal(err)
	}
	b.Close()
	if _, err = backend.OpenURI(t.Context(), "s3://other/crm", true, openers...); !errors.Is(err, onto.Unavailable) || !strings.Contains(err.Error(), "other") {
		t.Errorf("a bucket that is not there: %v", err)
	}
	if id, err := backend.IdentityOfURI("s3://things/crm/", openers...); err != nil || id != "s3://things/crm" {
		t.Errorf("got %q, %v", id, err)
	}
	for _, uri := range []string{"s3://AKIA:hunter2@things", "s3://things/../hunter2", "file:///hunter2"} {
		_, err := s3lake.Opener.Open(t.Context(), uri, true)
		_, err2 := s3lake.Opener.Identity(uri)
		for _, err := range []error{err, err2} {
			if !errors.Is(err, onto.Invalid) || strings.Contains(err.Error()+onto.HintOf(err).String(), "hunter2") {
				t.Errorf("%s: %v", uri, err)
			}
		}
	}
}
