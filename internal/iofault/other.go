//go:build !linux || !amd64

package iofault

import (
	"context"
	"errors"
	"os/exec"
)

// Run fails: calls can be traced on Linux on amd64 alone.
func Run(context.Context, *exec.Cmd, Plan) (*Outcome, error) { return nil, Available() }

// Available fails.
func Available() error { return errors.New("system calls are traced on Linux on amd64 alone") }
