package effort

import "time"

// Step is tests that a plain run does a part of, and .ci/run more.
type Step struct {
	Name  string
	About string
	Share time.Duration       // of a run of .ci/run on two quiet cores; for a warning only
	Tests map[string][]string // by package, from the root of the module
	Skip  string              // parts of them that a plain run does whole, as go test -skip has it; "" for none
}

// Steps is the table of the tests that ask how much to do. Every such test is in one step:
// .ci/run goes through them all.
func Steps() []Step {
	return []Step{
		{"contract", "the contracts of backends and buckets, at random and at once", 2 * time.Minute, map[string][]string{
			"archive":                    {"TestCopyBesideMigrations"},
			"backend/lake/bucket/faulty": {"TestContract"},
			"backend/lake/bucket/file":   {"TestContract"},
			"backend/lake/bucket/memory": {"TestContract"},
			"backend/lake/bucket/s3":     {"TestContractOnFake", "TestContractOnVersitygw"},
			"backend/lake/laketest": {"TestContractInMemory", "TestContractInPieces", "TestContractOnFake", "TestContractOnFiles", "TestContractOnVersitygw",
				"TestContractWithCompaction", "TestContractWithDuckDB", "TestCopies"},
			"backend/memory": {"TestContract", "TestCopies"},
			"backend/sqlite": {"TestContract", "TestCopies"},
			"bus":            {"TestOnSQLite"},
			"store":          {"TestTransactWriteSkew", "TestTransfersAtOnce", "TestUpdateAtOnce"},
		}, "^TestContract(InMemory)?$/^(stories|bus|work|archive|handles|cancel|optional|faults)$|^TestContractWithDuckDB$/^(handles|cancel|concurrency|linearizable)$"},
		{"simulation", "writers, readers and janitors of a lake with lost, late and doubled answers", 90 * time.Second, map[string][]string{
			"backend/lake/laketest": {"TestLyingBucket", "TestLyingProxyOnFake", "TestLyingProxyOnVersitygw"},
			"backend/lake/protocol": {"TestLinearizable", "TestSimulation", "TestTurn"},
		}, ""},
		{"questions", "random questions, answered alike by every engine", 105 * time.Second, map[string][]string{
			"backend/lake/duck":     {"TestAgree", "TestCorpus", "TestDiff", "TestLate", "TestMemory", "TestSecondReader"},
			"backend/lake/laketest": {"TestManyOpenReaders", "TestQuestions", "TestQuestionsOnVersitygw"},
			"backend/sqlite":        {"TestEventsAtRandom", "TestSQLAgreesWithProcess"},
			"filter/filtertest":     {"TestAgree", "TestDuel"},
		}, ""},
		{"kills", "processes that share a store, and are killed", 2 * time.Minute, map[string][]string{
			"backend/lake/bucket/file": {"TestKilledWritersLoseNothing"},
			"backend/lake/laketest": {"TestHerd", "TestImportBesideWriter", "TestKilled", "TestKilledCopies", "TestKilledInLine", "TestProcesses", "TestProcessesOnVersitygw",
				"TestUpdateAtOnce"},
			"backend/sqlite": {"TestFourProcessesOnOneSource", "TestHerd", "TestKilledAtWork", "TestKilledInLine", "TestKilledOnTheBus", "TestKilledWritersLoseNothing", "TestManyProcesses",
				"TestTwoProcessesOnTheBus"},
			"backend/sqlite/source":   {"TestAfterTheOriginalWasKilled", "TestBesideTheOriginal", "TestKilledCopiesBesideTheOriginal"},
			"bus":                     {"TestProcessesAreKilled"},
			"store":                   {"TestMigrationKilled"},
			"store/deploytest":        {"TestCrowdWhileTypesChange", "TestIncompatibleDeploys", "TestRollingDeploys"},
			"store/internal/foldkeep": {"TestProcessesThatAreKilled", "TestRebuildsThatAreKilled"},
			"work":                    {"TestProcessesAreKilled", "TestProcessesKeepLimits"},
		}, ""},
		{"faults", "calls of the operating system that fail, one after the other", 3 * time.Minute, map[string][]string{
			"backend/lake/bucket/file": {"TestEveryCallFails", "TestEveryCallOfTheNextProcessFails"},
			"backend/lake/laketest":    {"TestEveryCallFails"},
			"backend/sqlite":           {"TestDamagedFile", "TestEdits", "TestFailingCommit", "TestFailingRestore", "TestFlippedBitInTheWAL", "TestFlippedBits"},
			"backend/sqlite/source":    {"TestFlippedBits"},
			"cmd/onto":                 {"TestFaultSweep", "TestFaultSweepOfTenants"},
		}, ""},
		{"hostile", "files, lakes, documents and programs that must not be trusted", 75 * time.Second, map[string][]string{
			"backend/sqlite/source": {"TestCopyMemory"},
			"backend/lake": {"TestCheckBucketOfRandomDamage", "TestCheckOfRandomHistories", "TestHostileLakes", "TestRandomDocuments",
				"TestRandomDocumentsOfLargeLake"},
			"cmd/onto":       {"TestHostileFiles", "TestHostileLakes"},
			"internal/jq":    {"TestHostilePrograms", "TestKillers", "TestNestedPrograms"},
			"internal/links": {"TestHostileHTML", "TestHostileJSON"},
		}, ""},
		{"mistakes", "mistakes that are planted in the source, and must be caught", 45 * time.Second, map[string][]string{
			"backend/backendtest":     {"TestMutants"},
			"backend/lake/protocol":   {"TestSimulationCatchesMistakes"},
			"backend/sqlite/source":   {"TestMistakesAreCaught"},
			"bus":                     {"TestMistakesAreCaught"},
			"filter/filtertest":       {"TestMistakes", "TestWrongBackends"},
			"internal/decide":         {"TestFactMistakes"},
			"store/deploytest":        {"TestMistakesAboutComputedFieldsAreCaught", "TestMistakesAboutNestedValuesAreCaught"},
			"store/facttest":          {"TestMistakesAboutFactsAreCaught"},
			"store/internal/foldkeep": {"TestMistakesAreCaught"},
		}, ""},
		{"models", "random cases, compared with plain models", time.Minute, map[string][]string{
			".":                  {"TestFactRefRandom", "TestFactSchemasRandom"},
			"backend/lake/cache": {"TestAgainstAModel"},
			"backend/lake/laketest": {"TestFactsAreThoseOfTheModel", "TestMovedFactsAreThoseOfTheModel", "TestRecoverHead", "TestRecoverHeadOnVersitygw",
				"TestRowsInAnyOrderAreThoseOfTheModel", "TestSubjectsAreBroughtBack"},
			"backend/lake/parquet":               {"TestCheckOfWhatWasWritten", "TestFind", "TestRoundTrip"},
			"backend/lake/parquet/internal/flat": {"TestHybrid", "TestSeekRow"},
			"backend/sqlite":                     {"TestRebuildAfterRandomWork"},
			"filter": {"TestCompareNumbersExactly", "TestFormatIsAFixedPoint", "TestFormatNeedsItsBrackets", "TestMatchIsTheTruth",
				"TestMatchOneConditionIsTheTruth"},
			"internal/codec": {"TestCanonicalMeansTheSameAndIsAFixedPoint", "TestElements", "TestFindAgainstDecoding", "TestFloatsComeBackExactly",
				"TestMembersRoundTrip", "TestStringsComeBackExactly", "TestTextOrderIsTimeOrder"},
			"internal/computed":       {"TestKeysHaveAnInverse", "TestTextsAreThoseOfTheModel"},
			"internal/cron":           {"TestModel", "TestModelOfThePast", "TestOrder"},
			"internal/decide":         {"TestFactsAgainstMemory"},
			"internal/dedupe":         {"TestKeysHaveAnInverse"},
			"internal/exec":           {"TestMergeAheadIsMerge"},
			"internal/fetch":          {"TestForms"},
			"internal/jq":             {"TestEdits", "TestLimitsChangeNothingElse"},
			"internal/links":          {"TestNormalFormIsAFixedPoint", "TestTagsAgreeWithTree"},
			"internal/robots":         {"TestMatchRandom"},
			"internal/spool":          {"TestAppend", "TestVersions"},
			"internal/workcsv":        {"TestRoundTrip"},
			"object":                  {"TestConcurrentHistories", "TestRandomHistories"},
			"store":                   {"TestFactsAreReverted", "TestLineages", "TestMigrationsOfFactsKeepEveryAnswer", "TestRevertAgreesWithAModel"},
			"store/deploytest":        {"TestComputedRowsDrawn", "TestDrawnStructsJoin", "TestNestedPairs", "TestNestedStructPairs", "TestNestedValuesAreThoseOfTheModel", "TestStructsAreStoredLikeTheirJSON"},
			"store/facttest":          {"TestFactsAreThoseOfTheModel", "TestMovedFactsAreThoseOfTheModel", "TestRowsInAnyOrderAreThoseOfTheModel", "TestSubjectsAreBroughtBack"},
			"store/internal/fold":     {"TestOrder"},
			"store/internal/foldkeep": {"TestRandomHistories"},
			"store/internal/shape":    {"TestDecodesLikeEncodingJSON"},
			"store/records":           {"TestRoundTrip", "TestRoundTripOfNestedFields"},
			"store/schemafile":        {"TestDefaultsAgree", "TestFormatAndParseAreInverse", "TestProgramsComeBack"},
		}, ""},
	}
}
