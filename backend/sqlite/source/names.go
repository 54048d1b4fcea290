package source

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// names gives names of the file their names in the copy.
type names struct {
	given   map[string]string
	used    map[string]int  // how many things each was used for
	refused map[string]bool // names that are refused here, and have no other
	taken   map[string]bool // names in the copy
}

func newNames(given map[string]string) (*names, error) {
	for old, name := range given {
		if err := onto.CheckUserName("the new", name); err != nil {
			return nil, onto.Errorf(onto.Invalid, "--rename %q: %w", old+"="+name, err)
		}
	}
	return &names{given, map[string]int{}, map[string]bool{}, map[string]bool{}}, nil
}

// allowed reports whether a name can stay. Names of this program's own are only so in types
// that it has made.
func allowed(name string, own bool) bool {
	return onto.CheckName("", name) == nil && (own || !strings.HasPrefix(name, onto.OwnPrefix))
}

// change returns the name of a thing in the copy. It is asked for by its qualified name, and
// by its plain one if that cannot stay.
func (n *names) change(qualified, plain string, own bool) string {
	name, ok := n.given[qualified]
	switch {
	case ok:
		n.used[qualified]++
	case allowed(plain, own):
		name = plain
	default:
		if name, ok = n.given[plain]; !ok {
			n.refused[plain] = true
			return plain
		}
		n.used[plain]++
	}
	n.taken[name] = true
	return name
}

// typ is the name of a type in the copy.
func (n *names) typ(t onto.TypeName, own bool) string {
	return n.change(string(t.Kind)+" "+t.Name, t.Name, own)
}

// field is the name of a field in the copy.
func (n *names) field(typ, field string, own bool) string {
	return n.change(typ+"."+field, field, own)
}

// maxNamed is how many refused names an error tells.
const maxNamed = 20

// check fails if names are left that are refused here, or that were given and are not there.
func (n *names) check(path string) error {
	if len(n.refused) > 0 {
		all := slices.Sorted(maps.Keys(n.refused))
		told := make([]string, 0, maxNamed)
		for _, name := range all[:min(len(all), maxNamed)] {
			other := n.suggested(name)
			n.taken[other] = true
			told = append(told, "--rename '"+name+"="+other+"'")
		}
		return onto.Errorf(onto.Invalid, "%s: %d names of types and fields are not allowed here, the first is %.80q", path, len(all), all[0]).
			WithHint("give them other names: %s", strings.Join(told, " "))
	}
	for _, old := range slices.Sorted(maps.Keys(n.given)) {
		if n.used[old] == 0 {
			return onto.Errorf(onto.Invalid, "%s: there is no type or field %.80q that has to be renamed", path, old).
				WithHint("write the name as it is in the file; one that is allowed here with its type, as Type.field, or its kind, as 'relation Type'")
		}
	}
	return nil
}

// suggested is a name that is allowed and not taken, made of one that is not allowed.
func (n *names) suggested(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, strings.TrimPrefix(name, onto.OwnPrefix))
	if !allowed(name, false) {
		name = "x_" + name
	}
	const digits = 4
	name = name[:min(len(name), onto.MaxName-digits)]
	free := name
	for i := 2; n.taken[free]; i++ {
		free = fmt.Sprintf("%s_%d", name, i)
	}
	return free
}

// notes says which names were changed.
func (n *names) notes() (list []backend.LogNote) {
	for _, old := range slices.Sorted(maps.Keys(n.used)) {
		list = append(list, backend.LogNote{Code: backend.NamesChanged, Of: old + "=" + n.given[old], Count: int64(n.used[old])})
	}
	return list
}
