//go:build !linux

package filetest

import "testing"

// RunInMemory is m.Run for TestMain.
func RunInMemory(m *testing.M) int { return m.Run() }
