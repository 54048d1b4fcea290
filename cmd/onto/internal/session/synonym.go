package session

// synonyms is words that people try as verbs, each with the command that does it here.
func synonyms() map[string][]string {
	query, get, drop, export, load := []string{"query", "--help"}, []string{"get", "--help"}, []string{"delete", "--help"}, []string{"export", "--help"}, []string{"import", "--help"}
	log, put, info := []string{"log", "--help"}, []string{"put", "--help"}, []string{"info"}
	follow, doctor := []string{"commits", "follow", "--help"}, []string{"doctor"}
	return map[string][]string{
		"ls": query, "list": query, "find": query, "search": query, "select": query, "count": query, "scan": query, "sql": query,
		"show": get, "cat": get, "read": get, "view": get,
		"add": put, "insert": put, "set": put, "write": put, "create": put,
		"rm": drop, "del": drop, "remove": drop, "unlink": drop,
		"dump": export, "save": export, "load": load, "ingest": load,
		"undo": {"revert", "--help"}, "rollback": {"revert", "--help"}, "changes": {"diff", "--help"}, "compare": {"diff", "--help"},
		"versions": log, "status": info, "stats": {"info", "--stats"}, "stat": {"info", "--stats"},
		"types": {"schema", "export"}, "tables": {"schema", "export"}, "describe": {"schema", "export"},
		"watch": follow, "follow": follow, "tail": follow,
		"check": doctor, "fsck": doctor, "health": doctor, "vacuum": {"compact", "--help"}, "clean": {"janitor", "--help"},
		"upgrade": {"migrate", "--help"}, "clone": {"copy", "--help"}, "version": {"--version"},
	}
}
