package main

import "runtime/debug"

// version is what this program was built from: a version, or a revision and its date.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	return versionOf(info)
}

func versionOf(info *debug.BuildInfo) string {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	said := map[string]string{}
	for _, s := range info.Settings {
		said[s.Key] = s.Value
	}
	revision := said["vcs.revision"]
	if revision == "" {
		return "devel"
	}
	text := "devel, revision " + revision[:min(len(revision), 12)]
	if said["vcs.time"] != "" {
		text += " of " + said["vcs.time"]
	}
	if said["vcs.modified"] == "true" {
		text += ", changed since"
	}
	return text
}
