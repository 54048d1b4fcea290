package store

// AwaitRecheck waits until the comparison that Recheck has begun has ended.
func (s *Store) AwaitRecheck() { <-s.recheck.done }
