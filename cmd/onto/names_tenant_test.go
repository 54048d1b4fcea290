package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// tellOfTenants runs the verbs that take --vaults.
func tellOfTenants(s *speaker, dir string) {
	s.t.Helper()
	file := filepath.Join(dir, "vaults.yaml")
	list := "chat: {acme: ['sqlite:///DIR/acme-1.db', 'sqlite:///DIR/acme-2.db'], gone: ['sqlite:///DIR/gone.db', 'sqlite:///DIR/acme-1.db']}"
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(list, "DIR", dir)), 0o600); err != nil {
		s.t.Fatal(err)
	}
	next := strings.Replace(namesTypes, "      tier:", "      rank: {type: int, default: 1}\n      tier:", 1)
	s.where = []string{"--vaults", file, "--tenant", "acme"}
	s.done(namesTypes, "init", "--schema", "-", "--dry-run")
	s.done(namesTypes, "init", "--schema", "-")
	s.where = []string{"--db", filepath.Join(dir, "acme-1.db")}
	s.done("", "put", "Customer", `{"id":"c1"}`)
	s.where = []string{"--vaults", file, "--tenant", "acme"}
	s.done("", "query", "entities", "Customer", "--page", "--limit", "1")
	s.done("", "query", "entities", "Customer", "--count")
	s.done("", "get", "Customer", "c1")
	s.say("", "get", "Customer", "c2")
	s.done("", "log", "Customer", "c1")
	s.done("", "export", "--output", filepath.Join(dir, "acme.jsonl"))
	plan := s.done(next, "migrate", "--schema", "-")
	tokens := regexp.MustCompile(`"token": "([^"]+)"`).FindAllStringSubmatch(plan, -1)
	s.done(next, "migrate", "--schema", "-", "--apply", "--token", tokens[len(tokens)-1][1])
	s.done("", "shard", "status", "--stats")
	s.where = []string{"--vaults", file}
	s.done("", "shard", "status")
	s.where = []string{"--vaults", file, "--tenant", "gone"}
	s.done("", "doctor")
}
