package main

import (
	"runtime/debug"
	"testing"
)

func TestVersionOf(t *testing.T) {
	vcs := func(settings ...debug.BuildSetting) *debug.BuildInfo { return &debug.BuildInfo{Settings: settings} }
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123"}
	at := debug.BuildSetting{Key: "vcs.time", Value: "2026-02-10T12:00:00Z"}
	for want, info := range map[string]*debug.BuildInfo{
		"v1.2.3": {Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{revision}},
		"devel":  {Main: debug.Module{Version: "(devel)"}},
		"devel, revision 0123456789ab of 2026-02-10T12:00:00Z":                vcs(revision, at),
		"devel, revision 0123456789ab of 2026-02-10T12:00:00Z, changed since": vcs(revision, at, debug.BuildSetting{Key: "vcs.modified", Value: "true"}),
		"devel, revision 0123456789ab":                                        vcs(revision),
	} {
		if got := versionOf(info); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
