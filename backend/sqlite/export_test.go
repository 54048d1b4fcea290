package sqlite

// Points are the moments of an append where FailAt can make it fail.
func Points() []string { return []string{"begin", "versions", "commit"} }

// FailAt makes the next append fail at a point.
func (b *Backend) FailAt(point string, err error) {
	b.fault = func(at string) error {
		if at != point {
			return nil
		}
		b.fault = nil
		return err
	}
}

// Exec runs SQL on the writer connection.
func (b *Backend) Exec(sql string) error { return b.writer.script(sql) }
