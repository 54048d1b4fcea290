package main

import (
	"context"
	"log"
)

func Example() {
	if err := run(context.Background(), ":memory:"); err != nil {
		log.Fatal(err)
	}
	// Output:
	// then: Silver
	// 1 operator:ana Silver
	// 2 daemon:billing Gold
}
