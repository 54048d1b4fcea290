package place

import (
	"strings"
	"testing"

	"github.com/ontologia/onto"
)

func TestStorageURIs(t *testing.T) {
	for _, c := range []struct {
		uri, shown string
		want       Location
	}{
		{"sqlite:///a.db", "a.db", Location{Path: "a.db"}},
		{"sqlite:////var/a.db", "/var/a.db", Location{Path: "/var/a.db"}},
		{"sqlite:///:memory:", ":memory:", Location{Path: ":memory:"}},
		{"file:///var/lib/crm", "file:///var/lib/crm", Location{Lake: lakeIn("/var/lib/crm")}},
		{"file:///var//lib/../crm/", "file:///var/crm", Location{Lake: lakeIn("/var/crm")}},
		{"file:///with space & 100%", "file:///with space & 100%", Location{Lake: lakeIn("/with space & 100%")}},
		{"file:///home/a@b/x", "file:///home/a@b/x", Location{Lake: lakeIn("/home/a@b/x")}},
		{"s3://bucket", "s3://bucket", Location{Lake: lakeUnder("bucket", "")}},
		{"s3://bucket/", "s3://bucket", Location{Lake: lakeUnder("bucket", "")}},
		{"s3://my.bucket-1/crm/v2/", "s3://my.bucket-1/crm/v2", Location{Lake: lakeUnder("my.bucket-1", "crm/v2")}},
	} {
		got, err := ParseURI(c.uri)
		if err != nil {
			t.Errorf("%s: %v", c.uri, err)
			continue
		}
		if want := (flag{"--storage-uri", c.uri}); got.flag != want {
			t.Errorf("%s: the flag is %q, want %q", c.uri, got.flag, want)
		}
		got.flag = flag{}
		if got != c.want || got.String() != c.shown {
			t.Errorf("%s: got %+v, shown as %s, want %+v, shown as %s", c.uri, got, got, c.want, c.shown)
		}
	}
}

func TestWrongStorageURIs(t *testing.T) {
	for _, c := range []struct{ uri, message string }{
		{"", "no scheme"},
		{"hunter2.db", "no scheme"},
		{"file:/hunter2", "no scheme"},
		{"postgres://ana:hunter2@localhost/crm", `"postgres://" are not supported`},
		{"S3://hunter2", `"S3://" are not supported`},
		{"hunter2hunter2://x", "with this scheme are not supported"},
		{"sqlite://hunter2", "names no file"},
		{"file://", "names no directory"},
		{"file:///", "names no directory"},
		{"file:///.", "names no directory"},
		{"file:///../..", "names no directory"},
		{"file://hunter2", "a host or a relative path"},
		{"file://localhost/hunter2", "a host or a relative path"},
		{"file://./hunter2", "a host or a relative path"},
		{"file://ana:hunter2@host/x", "credentials"},
		{"file:///hunter2?mode=ro", "parameters"},
		{"file:///hunter2#x", "parameters"},
		{"file:///hunter2%20x", "an escape"},
		{"file:///hunter2\x00", "a control character"},
		{"s3://", "names no bucket"},
		{"s3:///hunter2", "names no bucket"},
		{"s3://AKIA:hunter2@bucket/x", "credentials"},
		{"s3://AKIA:hunter2/x", "a bucket whose name"},
		{"s3://hunter2:9000/x", "a bucket whose name"},
		{"s3://../hunter2", "a bucket whose name"},
		{"s3://bucket?secret=hunter2", "parameters"},
		{"s3://bucket/x?secret=hunter2", "parameters"},
		{"s3://bucket/x#hunter2", "parameters"},
		{"s3://bucket/hunter2%2Fx", "an escape"},
		{"s3://bucket/a//hunter2", "a prefix that cannot be one"},
		{"s3://bucket/../hunter2", "a prefix that cannot be one"},
		{"s3://bucket/AKIA:hunter2@x", "a prefix that cannot be one"},
		{"s3://bucket/a hunter2", "a prefix that cannot be one"},
	} {
		got, err := ParseURI(c.uri)
		if onto.CodeOf(err) != onto.Invalid || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: got %+v, %v, want %q", c.uri, got, err, c.message)
			continue
		}
		if text := err.Error() + onto.HintOf(err).String(); strings.Contains(text, "hunter2") || onto.HintOf(err).Text == "" {
			t.Errorf("%s: says %q, hint %q", c.uri, err, onto.HintOf(err))
		}
	}
}

func TestMisspeltSchemes(t *testing.T) {
	for uri, want := range map[string]string{
		"S3://bucket/x": "did you mean s3://?", "s2://bucket/x": "did you mean s3://?", "fil:///x": "did you mean file://?",
		"sqlite3:///a.db": "did you mean sqlite://?", "ftp://host/x": "this build supports",
	} {
		if _, err := ParseURI(uri); !strings.HasPrefix(onto.HintOf(err).String(), want) {
			t.Errorf("%s: the hint is %q, want %q", uri, onto.HintOf(err), want)
		}
	}
}

func TestSettingsAreChecked(t *testing.T) {
	for _, c := range []struct {
		name, value string
		fine        bool
	}{
		{"s3_region", "eu-central-1", true},
		{"s3_region", "auto", true},
		{"s3_region", "eu central", false},
		{"s3_region", "eu/central", false},
		{"s3_endpoint_url", "http://127.0.0.1:9000", true},
		{"s3_endpoint_url", "https://s3.example.org/tenant", true},
		{"s3_endpoint_url", "127.0.0.1:9000", false},
		{"s3_endpoint_url", "ftp://hunter2", false},
		{"s3_endpoint_url", "http://", false},
		{"s3_endpoint_url", "http://ana:hunter2@host", false},
		{"s3_endpoint_url", "http://host?key=hunter2", false},
		{"s3_endpoint_url", "http://hunter2 x", false},
		{"s3_lock_timeout_ms", "5000", true},
		{"s3_lock_timeout_ms", "5s", false},
		{"s3_lease_ttl_ms", "0", false},
		{"s3_request_timeout_s", "-1", false},
		{"s3_duckdb_memory_limit", "256MB", true},
		{"s3_duckdb_memory_limit", "much", false},
		{"cache_bytes", "1073741824", true},
		{"cache_bytes", "1GiB", true},
		{"cache_bytes", "0", false},
		{"cache_dir", "/var/cache/onto", true},
	} {
		s, err := settingOf("here", c.name)
		if err != nil {
			t.Fatal(err)
		}
		err = s.check("here", c.value)
		if (err == nil) != c.fine {
			t.Errorf("%s=%s: got %v", c.name, c.value, err)
		}
		if err != nil && (onto.CodeOf(err) != onto.Invalid || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), c.name)) {
			t.Errorf("%s=%s: says %q", c.name, c.value, err)
		}
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "1048576": 1 << 20, "7B": 7, "2KB": 2000, "256MB": 256e6, "3 GB": 3e9, "1TB": 1e12,
		"1KiB": 1 << 10, "5MiB": 5 << 20, "1GiB": 1 << 30, "2TiB": 2 << 40,
		"": 0, "0": 0, "-1": 0, "MB": 0, "1.5GB": 1_500_000_000, "1.5": 0, "1.5.0GB": 0, "1mb": 0, "1MBB": 0, "1M": 0, "1MB x": 0, "x1MB": 0,
		"9223372036854775807": 1<<63 - 1, "9223372036854775808": 0, "9223372036854775807KB": 0,
	} {
		got, ok := parseSize(text)
		if got != want || ok != (want != 0) {
			t.Errorf("%q: got %d, %v, want %d", text, got, ok, want)
		}
	}
}
