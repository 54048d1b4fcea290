package backendtest

import "slices"

// stories returns the contract, one sentence after the other.
func stories() []tale {
	return slices.Concat(
		appendStories(), expectationStories(), idempotencyStories(), streamStories(),
		schemaStories(), timeStories(), readStories(), historyStories(), diffStories(),
		commitStories(), valueStories(), whereStories(), orderStories(), endpointStories(),
		searchStories(), aggregateStories(), admitStories(), flagStories(), sequenceStories(), panicStories(), closeStories(),
		evolveStories(), mergeStories(), endStories(), onceStories(), firstsStories(),
	)
}
