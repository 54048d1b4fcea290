package layout

// EventColumns are the columns of an event that are written once, in the order of
// [backend.EventValues]. Its number is not among them.
const EventColumns = `id, namespace, type, payload, created_at, priority, root_event_id, chain_depth, ordering_key, commit_id,
		parent_event_id, replay_of, not_before`
