//go:build !linux

package effort

import "testing"

// Main is m.Run for TestMain.
func Main(m *testing.M) int { return m.Run() }
