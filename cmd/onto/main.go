package main

import (
	"cmp"
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

func main() {
	signal.Ignore(syscall.SIGPIPE) // a closed pipe shows as an error of the write
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal kills
	args := os.Args[1:]
	c := newSession(os.Stdin, os.Stdout, os.Stderr)
	patience := func() time.Duration { return cmp.Or(time.Duration(c.Patience.Load()), stopPatience) }
	os.Exit(untilStopped(ctx, patience,
		func() int { return runIn(ctx, c, args) },
		func() int { return c.Abandon(os.Stderr, slices.Contains(args, "--json")) }))
}

// stopPatience is how long a command may take to stop after it was told to.
const stopPatience = 5 * time.Second

// untilStopped returns the status of run. If ctx ends and run goes on for longer than
// patience, it returns that of abandon, and run is abandoned: the process ends. A call
// that never returns, of a disk for example, cannot block it.
func untilStopped(ctx context.Context, patience func() time.Duration, run, abandon func() int) int {
	done := make(chan int, 1)
	go func() { done <- run() }()
	select {
	case status := <-done:
		return status
	case <-ctx.Done():
	}
	late := time.NewTimer(patience())
	defer late.Stop()
	select {
	case status := <-done:
		return status
	case <-late.C:
		return abandon()
	}
}
