package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ontologia/onto"
)

// setting is a key of the configuration.
type setting struct {
	name     string
	number   bool  // a positive integer; text otherwise
	fallback int64 // of a number; 0 for none
	text     string
}

// maxNumber keeps every setting, also one in milliseconds, far from overflow.
const maxNumber = 1 << 42

// settings lists every key, in the order of the manual.
func settings() []setting {
	return []setting{
		{name: "storage_uri"},
		{name: "db", text: "onto.db"},
		{name: "max_batch_size", number: true, fallback: 10_000},
		{name: "lock_timeout_ms", number: true, fallback: 5_000},
		{name: "lease_ttl_ms", number: true, fallback: 30_000},
		{name: "s3_region"},
		{name: "s3_endpoint_url"},
		{name: "s3_lock_timeout_ms", number: true, fallback: 5_000},
		{name: "s3_lease_ttl_ms", number: true, fallback: 30_000},
		{name: "s3_request_timeout_s", number: true, fallback: 10},
		{name: "s3_duckdb_memory_limit", text: "256MB"},
		{name: "cache_dir"},
		{name: "cache_bytes", number: true},
		{name: "default_namespace", text: "default"},
		{name: "event_claim_lease_ms", number: true, fallback: 30_000},
		{name: "event_claim_limit", number: true, fallback: 100},
		{name: "max_events_per_iteration", number: true, fallback: 1_000},
		{name: "event_max_attempts", number: true, fallback: 10},
		{name: "event_backoff_base_ms", number: true, fallback: 250},
		{name: "event_backoff_max_ms", number: true, fallback: 30_000},
		{name: "event_poll_interval_ms", number: true, fallback: 1_000},
		{name: "event_retention_ms", number: true, fallback: 604_800_000},
		{name: "session_heartbeat_interval_ms", number: true, fallback: 5_000},
		{name: "session_ttl_ms", number: true, fallback: 60_000},
		{name: "max_event_chain_depth", number: true, fallback: 20},
	}
}

// settingOf finds a key, or suggests one.
func settingOf(origin, name string) (setting, error) {
	all := settings()
	i := slices.IndexFunc(all, func(s setting) bool { return s.name == name })
	if i >= 0 {
		return all[i], nil
	}
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.name
	}
	err := onto.Errorf(onto.Invalid, "%s: %.80q is not a setting", origin, name)
	if near := onto.Suggest(name, names); near != "" && len(name) <= onto.MaxName {
		return setting{}, err.WithHint("did you mean %s?", near)
	}
	return setting{}, err.WithHint("the settings are %s", strings.Join(names, ", "))
}

// check reports whether a text is a value for the setting.
func (s setting) check(origin, value string) error {
	if !s.number {
		return nil
	}
	if n, err := strconv.ParseInt(value, 10, 64); err != nil || n < 1 || n > maxNumber {
		return onto.Errorf(onto.Invalid, "%s: %s is %.80q, expected a whole number from 1 to %d", origin, s.name, value, int64(maxNumber))
	}
	return nil
}
