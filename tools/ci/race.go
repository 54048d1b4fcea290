package main

import "strings"

// racePackages is where goroutines of the product meet: every package that starts one, and
// those whose tests call them from several.
func racePackages() []string {
	return []string{
		"./archive", "./backend/...", "./bus", "./work", "./object", "./store/...", "./examples/...",
		"./internal/backoff", "./internal/effort", "./internal/exec", "./internal/fetch", "./internal/flock", "./internal/groupcommit", "./internal/iofault",
		"./internal/lease", "./internal/mailbox", "./internal/parallel", "./internal/robots",
	}
}

// raceSkips is the tests that the race detector leaves out, as go test -skip has it. They
// have one goroutine and compute for long, repeat with other storage what another test does,
// or all that happens at once is in other processes.
func raceSkips() string {
	one := []string{
		// One goroutine: codecs, models, damage, planted mistakes, much data.
		"TestMutants", "TestReference", "TestSimulation.*", "TestQuestions.*", "TestCorpus", "TestAgree", "TestDiff", "TestLate", "TestSecondReader",
		"TestCheck.*", "TestSurvey.*", "TestDamage.*", "TestDescribeBytes", "TestCompactionMends.*", "TestHostile.*", "TestRandomDocuments.*", "TestBombs",
		"TestFlipped.*", "TestFacts.*", "TestMoved.*", "TestMigrationsOfFacts.*", "TestRandomHistories", "TestRoundTrip", "TestFind.*", "TestLargeFields",
		"TestFailing.*", "TestMistakes.*", "TestMemory", "TestStreamMemory", "TestPlans.*", "TestUnpackBomb", "TestLargestRecord", "TestEndlessRecords",
		"TestRefusedLines", "TestManyRecords", "TestRevertALarge.*", "TestRebuildAfter.*", "TestSQLAgrees.*", "TestLineages", "TestTwoPrograms.*",
		"TestCopies", "TestDeleteMany", "TestLogIsNotWalked", "TestLinearizable", "TestTurn", "TestHybrid", "TestSeekRow", "Fuzz.*",
		// Other storage.
		"TestContractOn.*", "TestContractWith.*", "TestContractInPieces", "TestLyingProxy.*", "TestManyOpenReaders", "TestImportBesideWriter", "TestOnSQLite",
		// Other processes.
		"Test.*Killed.*", "TestProcesses.*", "TestTwoProcesses.*", "TestFourProcesses.*", "TestManyProcesses", "TestHerd", "TestStoppedInLine", "TestEveryCall.*",
		"TestReadOnAFullDisk", "TestReadWithFileSizeLimit", "TestRollingDeploys", "TestIncompatibleDeploys",
	}
	const contract = "^TestContract.*$/^(stories|histories|traffic|work|workload|faults)$"
	return "^(" + strings.Join(one, "|") + ")$|" + contract
}
