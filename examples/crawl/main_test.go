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
	// first crawl: 3 completed, 0 of them unchanged, 1 failed
	// second crawl: 3 completed, 2 of them unchanged, 1 failed
	// at commit 3: Oolong: 8 euros. Old prices
	// at commit 4: Oolong: 9 euros.
	// /prices/old, found in /prices, failed 1 times
}
