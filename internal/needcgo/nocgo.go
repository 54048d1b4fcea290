//go:build !cgo

package needcgo

func _() {
	// The compiler refuses this text, and prints it.
	"SQLite and DuckDB are in C: build with CGO_ENABLED=1 and a C compiler"
}
