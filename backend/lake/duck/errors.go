package duck

import (
	"errors"
	"strings"

	"github.com/ontologia/onto"
)

// failure gives a message of DuckDB its code. Its further lines are dropped: they quote
// the statement or give advice about settings that are locked.
func failure(message string) error {
	message, _, _ = strings.Cut(strings.TrimSpace(message), "\n")
	switch {
	case strings.Contains(message, "Out of Memory Error"):
		return onto.Errorf(onto.TooLarge, "DuckDB: %s", message).WithHint("raise s3_duckdb_memory_limit, or Options.Memory in a program")
	case strings.Contains(message, "No magic bytes found"), strings.Contains(message, "Invalid Input Error: File"),
		strings.Contains(message, "too small to be a Parquet file"), strings.Contains(message, "Failed to read Parquet file"):
		return onto.Errorf(onto.Corrupt, "DuckDB: %s", message).WithHint("fetch the file again")
	}
	if strings.Contains(message, "Out of Range Error") {
		return onto.Errorf(onto.Unavailable, "DuckDB: %s: %w", message, errRange)
	}
	return onto.Errorf(onto.Unavailable, "DuckDB: %s", message)
}

// errRange is the cause of values outside of the engine's number ranges.
var errRange = errors.New("a number is out of range")
