package session

import (
	"os"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/store/schemafile"
)

// ReadUpgraders reads an upgraders file.
func ReadUpgraders(path string) ([]store.Upgrader, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, onto.Errorf(onto.Invalid, "upgraders file: %w", err)
	}
	defer file.Close()
	list, err := schemafile.ReadUpgraders(file)
	if err != nil {
		return nil, onto.Errorf(onto.CodeOf(err), "%s: %w", path, err)
	}
	return upgradersOf(list), nil
}

// upgradersOf is the store's form of what an upgraders file says.
func upgradersOf(list []schemafile.Upgrader) []store.Upgrader {
	var all []store.Upgrader
	for _, u := range list {
		var steps []store.Upgrader
		if u.RenamedFrom != "" {
			steps = append(steps, store.RenameType(u.RenamedFrom, u.Type))
		}
		for _, r := range u.Rename {
			steps = append(steps, store.RenameField(u.Type, u.From, r[0], r[1]))
		}
		for _, field := range u.Drop {
			steps = append(steps, store.DropField(u.Type, u.From, field))
		}
		for _, d := range u.Default {
			steps = append(steps, store.DefaultField(u.Type, u.From, d.Field, d.Value))
		}
		if u.Program != "" {
			steps = append(steps, store.Upgrader{Type: u.Type, From: u.From, Program: u.Program})
		}
		for i := range steps {
			steps[i].RenamedFrom = u.RenamedFrom
		}
		all = append(all, steps...)
	}
	return all
}
