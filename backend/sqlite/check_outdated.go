package sqlite

import (
	"fmt"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

const migrateRemedy = "rewrite them: onto migrate --schema FILE --upgraders FILE"

// outdated finds live rows that another program wrote for an older schema
// version when there was a newer one, and whose fields cannot be taken as they
// are for those of the newest. Rows from before a version are no finding: the
// migration has rewritten those that it had to.
func (c *checker) outdated() error {
	all, err := readSchemas(c.r.conn)
	if err != nil {
		return err
	}
	for _, newest := range backend.Newest(all) {
		if err := c.outdatedOf(newest, versionsOf(all, newest.Schema)); err != nil {
			return err
		}
	}
	return nil
}

// versionsOf is the versions of a type by their number.
func versionsOf(all []onto.SchemaVersion, s onto.Schema) map[int]onto.SchemaVersion {
	versions := map[int]onto.SchemaVersion{}
	for _, v := range all {
		if v.Schema.Kind == s.Kind && v.Schema.Name == s.Name {
			versions[v.Version] = v
		}
	}
	return versions
}

func (c *checker) outdatedOf(newest onto.SchemaVersion, versions map[int]onto.SchemaVersion) error {
	if newest.Version == 1 {
		return nil
	}
	t := c.b.table(newest.Schema.Kind)
	for from := 1; from < newest.Version; from++ {
		needs := needsBetween(versions, from, newest.Version)
		if len(needs) == 0 {
			continue
		}
		n, err := c.r.queryInt(fmt.Sprintf(`SELECT count(*) FROM %s c WHERE c.%s = ? AND c.op = 'put' AND c.schema_version_id = ? AND c.commit_id >= ?`,
			t.current, t.columns[0]), newest.Schema.Name, from, versions[from+1].Since)
		if err == nil && n > 0 {
			err = c.report(onto.SeverityWarning, "rows_outdated", migrateRemedy, "%s %s: %d live rows were written for schema version %d when there was a newer one: %s",
				newest.Schema.Kind, newest.Schema.Name, n, from, strings.Join(needs, "; "))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// needsBetween is what has to be done to fields on their way from one version
// to another. Versions that do not exist are reported elsewhere.
func needsBetween(versions map[int]onto.SchemaVersion, from, to int) []string {
	var needs []string
	for n := from; n < to; n++ {
		before, ok := versions[n]
		after, follows := versions[n+1]
		if !ok || !follows {
			continue
		}
		needs = append(needs, stepNeeds(before, after)...)
	}
	return needs
}

// stepNeeds is what one step from version to version needs.
func stepNeeds(before, after onto.SchemaVersion) []string {
	carry, up := onto.CarryOver(before.Schema, after.Schema), after.Upgrader
	switch {
	case up != nil && up.Func:
		return []string{fmt.Sprintf("version %d needs the upgrader of the program that made it", after.Version)}
	case up != nil && up.Program != "":
		return []string{fmt.Sprintf("version %d has an upgrader", after.Version)}
	case len(carry.Needs) > 0:
		return []string{fmt.Sprintf("version %d has no upgrader, and %s", after.Version, strings.Join(carry.Needs, ", "))}
	case len(carry.Fill) > 0:
		return []string{fmt.Sprintf("version %d has defaults for %s", after.Version, strings.Join(carry.Fill, ", "))}
	}
	return nil
}
