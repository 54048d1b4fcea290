package place

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
)

// settingsOf reads a configuration file with a text, and nothing else.
func settingsOf(t *testing.T, text string) (Settings, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "onto.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := fileLayer(path, true)
	return Settings{l}, err
}

// Lengths of time may have a fraction, in files and in the environment, whatever their unit.
func TestTimesMayHaveFractions(t *testing.T) {
	withoutSettings(t)
	for text, want := range map[string]time.Duration{
		"s3_request_timeout_s: 10":          10 * time.Second,
		"s3_request_timeout_s: 10.0":        10 * time.Second,
		"s3_request_timeout_s: 0.25":        250 * time.Millisecond,
		"s3_lease_ttl_ms: 30000.0":          30 * time.Second,
		"event_backoff_base_ms: 0.5":        500 * time.Microsecond,
		"event_retention_ms: 0":             0,
		"event_retention_ms: 0.0":           0,
		"s3_lock_timeout_ms: 4398046511104": 1 << 42 * time.Millisecond,
	} {
		cfg, err := settingsOf(t, text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		name, value, _ := strings.Cut(text, ": ")
		if got := cfg.Duration(name); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
		t.Setenv(variablePrefix+strings.ToUpper(name), value)
		l, err := environmentLayer()
		if err != nil || (Settings{l}).Duration(name) != want {
			t.Errorf("%s in the environment: got %v, %v; want %v", text, (Settings{l}).Duration(name), err, want)
		}
		t.Setenv(variablePrefix+strings.ToUpper(name), "")
	}
	if got := (Settings{}).Duration("s3_request_timeout_s"); got != 10*time.Second {
		t.Errorf("the default is %v, want 10 s", got)
	}
}

// A size with a unit may have a fraction, too; a count and a number of bytes may not.
func TestFractionsOfSizes(t *testing.T) {
	cfg, err := settingsOf(t, "cache_bytes: 1.5GiB\ns3_duckdb_memory_limit: 0.5 MB")
	if err != nil || cfg.bytes("cache_bytes") != 3<<29 || cfg.bytes("s3_duckdb_memory_limit") != 500_000 {
		t.Errorf("got %d and %d bytes, %v", cfg.bytes("cache_bytes"), cfg.bytes("s3_duckdb_memory_limit"), err)
	}
}

// What is no such number is refused, with what is expected.
func TestNumbersThatAreRefused(t *testing.T) {
	for text, tells := range map[string]string{
		"s3_request_timeout_s: 0.0":        "a number of seconds above 0",
		"s3_request_timeout_s: 0":          "a number of seconds above 0",
		"s3_request_timeout_s: -1.5":       "a number of seconds above 0",
		"s3_request_timeout_s: 4398046512": "a number of seconds above 0", // more than maxNumber milliseconds
		"s3_request_timeout_s: ten":        "a number of seconds above 0",
		"s3_request_timeout_s: .inf":       "a number of seconds above 0",
		"lock_timeout_ms: .nan":            "a number of milliseconds above 0",
		"lock_timeout_ms: 1h":              "a number of milliseconds above 0",
		"lock_timeout_ms: 0.0000001":       "a number of milliseconds above 0",
		"event_retention_ms: -1":           "a number of milliseconds",
		"max_batch_size: 10.0":             "a whole number",
		"event_claim_limit: 2.5":           "a whole number",
		"cache_bytes: 1.5":                 "a size such as 256MB",
		"cache_bytes: 1.x5GB":              "a size such as 256MB",
		"cache_bytes: 1.5XB":               "a size such as 256MB",
		"cache_bytes: 99999999999.5TB":     "a size such as 256MB",
	} {
		_, err := settingsOf(t, text)
		if onto.CodeOf(err) != onto.Invalid || !strings.Contains(err.Error(), tells) {
			t.Errorf("%s: got %v, want %q in it", text, err, tells)
		}
	}
}

// withoutSettings empties the variables that are settings, or would be taken for some.
func withoutSettings(t *testing.T) {
	t.Helper()
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, variablePrefix) {
			t.Setenv(name, "")
		}
	}
}
