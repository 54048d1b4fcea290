package cron_test

import (
	"fmt"
	"time"

	"github.com/ontologia/onto/internal/cron"
)

// In 2026 the clocks of Berlin go forward on March 29, from 02:00 to 03:00.
func ExampleSchedule_Next() {
	nightly, err := cron.Parse("30 2 * * *", "Europe/Berlin")
	if err != nil {
		panic(err)
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		panic(err)
	}
	at := time.Date(2026, 3, 28, 0, 0, 0, 0, time.UTC)
	for range 3 {
		at = nightly.Next(at)
		fmt.Println(at.In(berlin))
	}
	// Output:
	// 2026-03-28 02:30:00 +0100 CET
	// 2026-03-29 03:00:00 +0200 CEST
	// 2026-03-30 02:30:00 +0200 CEST
}

func ExampleParse_refused() {
	_, err := cron.Parse("*/5 9-17,25 * * mon-fri", "")
	bad := err.(*cron.Error)
	fmt.Println(err)
	fmt.Println(bad.Field, bad.Column)
	// Output:
	// hour "25": not between 0 and 23
	// hour 10
}
