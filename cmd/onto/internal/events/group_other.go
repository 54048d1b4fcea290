//go:build !unix

package events

import "os/exec"

// ownGroup leaves a command in the group of this process: it alone is ended.
func ownGroup(*exec.Cmd) {}

// killGroup does nothing: the command was ended already.
func killGroup(int) {}
