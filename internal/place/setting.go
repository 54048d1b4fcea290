package place

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/internal/suggest"
)

// setting is a key of the configuration.
type setting struct {
	name     string
	kind     settingKind
	fallback int64  // of a number, and of a time in its unit; 0 for none
	text     string // the fallback of anything else; "" for none

	// taken says that the key is accepted in files that were made for another program,
	// where it has only one possible value; it is not suggested.
	taken bool
}

// settingKind is what a setting can be.
type settingKind uint8

const (
	anyText            settingKind = iota
	wholeCount                     // a positive integer
	milliseconds                   // a time above 0, also with a fraction: 2.5
	millisecondsOrNone             // or 0
	seconds                        // the same in seconds
	byteSize                       // a number of bytes, or one with a unit: 256MB
	webAddress                     // http or https, without credentials
	plainWord                      // letters, digits, dots, hyphens and underscores
	busName                        // a name such as those of namespaces
	queueBackend                   // a kind of storage that keeps work
	actorName                      // on whose behalf: operator:ana
)

// maxNumber keeps every setting far from overflow; a time has at most so many milliseconds.
const maxNumber = 1 << 42

// settings lists every key, in the order of the manual.
func settings() []setting {
	return []setting{
		{name: "storage_uri"},
		{name: "db", text: "onto.db"},
		{name: "actor", kind: actorName},
		{name: "max_batch_size", kind: wholeCount, fallback: 10_000},
		{name: "lock_timeout_ms", kind: milliseconds, fallback: 5_000},
		{name: "lease_ttl_ms", kind: milliseconds, fallback: 30_000},
		{name: "migration_wait_ms", kind: milliseconds, fallback: 60_000},
		{name: "s3_region", kind: plainWord},
		{name: "s3_endpoint_url", kind: webAddress},
		{name: "s3_lock_timeout_ms", kind: milliseconds, fallback: 5_000},
		{name: "s3_lease_ttl_ms", kind: milliseconds, fallback: 30_000},
		{name: "s3_request_timeout_s", kind: seconds, fallback: 10},
		{name: "s3_duckdb_memory_limit", kind: byteSize, text: "256MB"},
		{name: "cache_dir"},
		{name: "cache_bytes", kind: byteSize},
		{name: "default_namespace", kind: busName, text: onto.DefaultNamespace},
		{name: "event_claim_lease_ms", kind: milliseconds, fallback: 30_000},
		{name: "event_claim_limit", kind: wholeCount, fallback: 100},
		{name: "max_events_per_iteration", kind: wholeCount, fallback: 1_000},
		{name: "event_max_attempts", kind: wholeCount, fallback: 10},
		{name: "event_backoff_base_ms", kind: milliseconds, fallback: 250},
		{name: "event_backoff_max_ms", kind: milliseconds, fallback: 30_000},
		{name: "event_poll_interval_ms", kind: milliseconds, fallback: 1_000},
		{name: "event_retention_ms", kind: millisecondsOrNone},
		{name: "session_heartbeat_interval_ms", kind: milliseconds, fallback: 5_000},
		{name: "session_ttl_ms", kind: milliseconds, fallback: 60_000},
		{name: "max_event_chain_depth", kind: wholeCount, fallback: 20},
		{name: "vaults"},
		{name: "vault", kind: busName},
		{name: "tenant", kind: busName},
		{name: "state.type", kind: queueBackend, taken: true},
		{name: "state.db_path"},
	}
}

// settingOf finds a key, or suggests one.
func settingOf(origin, name string) (setting, error) {
	all := settings()
	i := slices.IndexFunc(all, func(s setting) bool { return s.name == name })
	if i >= 0 {
		return all[i], nil
	}
	err := onto.Errorf(onto.Invalid, "%s: %.80q is not a setting", origin, name)
	if near := suggest.Name(name, settingNames()); near != "" && len(name) <= onto.MaxName {
		return setting{}, err.WithHint("did you mean %s?", near)
	}
	return setting{}, err.WithHint("the settings are %s", settingList())
}

// settingNames lists the settings that do something.
func settingNames() []string {
	var names []string
	for _, s := range settings() {
		if !s.taken {
			names = append(names, s.name)
		}
	}
	return names
}

func settingList() string { return strings.Join(settingNames(), ", ") }

// check reports whether a text is a value for the setting.
func (s setting) check(origin, value string) error {
	wrong := func(expected string) error {
		return onto.Errorf(onto.Invalid, "%s: %s is %.80q, expected %s", origin, s.name, value, expected)
	}
	switch s.kind {
	case wholeCount:
		if n, err := strconv.ParseInt(value, 10, 64); err != nil || n < 1 || n > maxNumber {
			return wrong(fmt.Sprintf("a whole number from 1 to %d", int64(maxNumber)))
		}
	case milliseconds, millisecondsOrNone, seconds:
		if d, ok := s.parseTime(value); !ok || d == 0 && s.kind != millisecondsOrNone {
			return wrong(s.kind.expects())
		}
	case byteSize:
		if _, ok := parseSize(value); !ok {
			return wrong("a size such as 256MB, 1GiB or 1048576")
		}
	case plainWord:
		if bucket.CheckKey(value) != nil || strings.ContainsAny(value, "/%") {
			return wrong("a name such as eu-central-1")
		}
	case busName:
		if err := onto.CheckBusName(s.name, value); err != nil {
			return onto.Errorf(onto.Invalid, "%s: %w", origin, err)
		}
	case actorName:
		if _, err := onto.ParseActor(value); err != nil {
			return onto.Errorf(onto.Invalid, "%s: %s: %w", origin, s.name, err)
		}
	case queueBackend:
		return checkQueueBackend(origin, value)
	case webAddress:
		u, err := url.Parse(value)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			// The address may hold a password, so it is not shown.
			return onto.Errorf(onto.Invalid, "%s: %s is not an address such as https://host:port", origin, s.name).
				WithHint("credentials and parameters do not belong into it")
		}
	}
	return nil
}

// expects says what values a length of time can have.
func (k settingKind) expects() string {
	switch k {
	case seconds:
		return "a number of seconds above 0, such as 10 or 2.5"
	case millisecondsOrNone:
		return "a number of milliseconds, such as 5000 or 2.5, or 0"
	}
	return "a number of milliseconds above 0, such as 5000 or 2.5"
}

// parseTime reads a length of time: a decimal number of the setting's unit.
func (s setting) parseTime(text string) (time.Duration, bool) {
	unit := "ms"
	if s.kind == seconds {
		unit = "s"
	}
	d, err := time.ParseDuration(text + unit)
	return d, err == nil && strings.Trim(text, "0123456789.") == "" && d <= maxNumber*time.Millisecond
}

// parseSize reads a number of bytes: KB, MB, GB and TB are powers of 1000, KiB,
// MiB, GiB and TiB of 1024. With a unit it may have a fraction: 1.5GB.
func parseSize(text string) (int64, bool) {
	digits := strings.TrimRight(text, "BKMGTi ")
	unit, known := map[string]int64{
		"": 1, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
	}[strings.TrimLeft(text[len(digits):], " ")]
	if whole, fraction, ok := strings.Cut(digits, "."); ok && unit > 1 && strings.Trim(whole+fraction, "0123456789") == "" {
		f, err := strconv.ParseFloat(digits, 64)
		n := f * float64(unit)
		return int64(n), err == nil && n >= 1 && n < math.MaxInt64
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || !known || n < 1 || n > math.MaxInt64/unit {
		return 0, false
	}
	return n * unit, true
}
