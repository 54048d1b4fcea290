package main

import "strings"

// racePackages is where goroutines of the product meet: every package that starts one, and
// those whose tests call them from several.
func racePackages() []string {
	return []string{
		"./backend/...", "./bus", "./work", "./store/...", "./examples/...",
		"./internal/backoff", "./internal/effort", "./internal/fetch", "./internal/flock", "./internal/groupcommit", "./internal/iofault", "./internal/lease",
		"./internal/mailbox", "./internal/parallel", "./internal/robots",
	}
}

// raceSkips is the tests that the race detector leaves out: they have one goroutine and
// compute for long, or all that happens at once is in other processes.
func raceSkips() string {
	return "^(" + strings.Join([]string{
		// One goroutine: codecs, models, damage, planted mistakes.
		"TestMutants", "TestReference", "TestSimulation.*", "TestQuestions.*", "TestCorpus", "TestAgree", "TestDiff", "TestCheck.*", "TestSurvey.*",
		"TestDamage.*", "TestDescribeBytes", "TestHostile.*", "TestRandomDocuments.*", "TestBombs", "TestFlipped.*", "TestFacts.*", "TestMoved.*",
		"TestMigrationsOfFacts.*", "TestRandomHistories", "TestRoundTrip", "TestFind.*", "TestLargeFields", "TestFailing.*", "TestMistakes.*",
		"TestMemory", "TestStreamMemory", "TestPlans.*", "TestUnpackBomb", "TestLargestRecord", "TestEndlessRecords", "TestRefusedLines", "TestManyRecords",
		// Other processes.
		"Test.*Killed.*", "TestProcesses.*", "TestTwoProcesses.*", "TestFourProcesses.*", "TestManyProcesses", "TestHerd", "TestEveryCall.*",
		"TestReadOnAFullDisk", "TestReadWithFileSizeLimit",
	}, "|") + ")$"
}
