package place

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/ontologia/onto"
)

// layer is one source of settings.
type layer struct {
	origin string            // for messages
	values map[string]string // by setting
}

// Settings is the layers, the strongest first: flags, environment, the
// project's file, the user's file.
type Settings []layer

// maxConfig is how many bytes a configuration file may have.
const maxConfig = 1 << 20

// Flags is the settings that are given on a command line; "" for those that are not.
type Flags struct{ DB, StorageURI, Config, Vaults, Vault, Tenant string }

// Configure reads every source of settings.
func Configure(f Flags) (Settings, error) {
	environment, err := environmentLayer()
	if err != nil {
		return nil, err
	}
	all := Settings{f.layer(), environment}
	for _, file := range configFiles(f.Config) {
		l, err := fileLayer(file.path, file.must)
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

func (f Flags) layer() layer {
	l := layer{"the command line", map[string]string{}}
	for name, value := range map[string]string{"db": f.DB, "storage_uri": f.StorageURI, "vaults": f.Vaults, "vault": f.Vault, "tenant": f.Tenant} {
		if value != "" {
			l.values[name] = value
		}
	}
	return l
}

// Location is what the command line says, if it says anything.
func (f Flags) Location() (loc Location, named bool, err error) { return f.layer().location() }

// environmentLayer reads ONTO_ variables. An empty one counts as unset; an unknown one is
// an error, as an unknown key of a file is.
func environmentLayer() (layer, error) {
	l := layer{"the environment", map[string]string{}}
	known := map[string]setting{}
	for _, s := range settings() {
		known[s.variable()] = s
	}
	environment := os.Environ()
	slices.Sort(environment) // so that the error is the same each time
	for _, pair := range environment {
		name, value, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, variablePrefix) || value == "" || slices.Contains(otherVariables(), name) {
			continue
		}
		s, ok := known[name]
		if !ok {
			return l, unknownVariable(name)
		}
		if err := s.check(name, value); err != nil {
			return l, err
		}
		l.values[s.name] = value
	}
	return l, nil
}

type configFile struct {
	path string
	must bool // named by the user, so it has to exist
}

// configFiles is the files to read, the strongest first; named is in place of that
// of the project.
func configFiles(named string) []configFile {
	files := []configFile{{"onto.yaml", false}}
	if named = cmp.Or(named, os.Getenv(EnvConfig)); named != "" {
		files[0] = configFile{named, true}
	}
	if dir, err := os.UserConfigDir(); err == nil {
		files = append(files, configFile{filepath.Join(dir, "onto", "onto.yaml"), false})
	}
	return files
}

// fileLayer reads a configuration file: YAML with settings as keys.
func fileLayer(path string, must bool) (layer, error) {
	l := layer{path, map[string]string{}}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) && !must {
		return l, nil
	}
	if err != nil {
		return l, onto.Errorf(onto.Invalid, "configuration: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return l, onto.Errorf(onto.Invalid, "configuration: %w", err)
	}
	if len(data) > maxConfig {
		return l, onto.Errorf(onto.Invalid, "%s: larger than %d bytes, this is no configuration file", path, maxConfig)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return l, onto.Errorf(onto.Invalid, "%s: %w", path, err)
	}
	return l, l.take(&doc)
}

// take checks and stores the keys of a YAML document. An empty one has none.
func (l *layer) take(doc *yaml.Node) error {
	if len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
		return nil
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return onto.Errorf(onto.Invalid, "%s: expected keys with values", l.origin).
			WithHint("for example: lock_timeout_ms: 5000")
	}
	return l.takeKeys("", root)
}

// takeKeys stores the keys of a mapping. Those of a group have its name before theirs.
func (l *layer) takeKeys(group string, m *yaml.Node) error {
	for i := 0; i < len(m.Content); i += 2 {
		key, value := m.Content[i], m.Content[i+1]
		var err error
		if group == "" && key.Value == stateGroup && value.Kind == yaml.MappingNode {
			err = l.takeKeys(stateGroup+".", value)
		} else {
			err = l.takeKey(group+key.Value, key.Line, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *layer) takeKey(name string, line int, value *yaml.Node) error {
	origin := l.origin + ", line " + strconv.Itoa(line)
	s, err := settingOf(origin, name)
	if err != nil {
		return err
	}
	if _, twice := l.values[s.name]; twice {
		return onto.Errorf(onto.Invalid, "%s: %s is given twice", origin, s.name)
	}
	want, tags := "text", []string{"!!str"}
	switch s.kind {
	case wholeCount:
		want, tags = "a whole number", []string{"!!int"}
	case milliseconds, millisecondsOrNone, seconds:
		want, tags = s.kind.expects(), []string{"!!int", "!!float"}
	case byteSize:
		want, tags = "a size such as 256MB", []string{"!!str", "!!int"}
	}
	if value.Kind != yaml.ScalarNode || !slices.Contains(tags, value.Tag) {
		return onto.Errorf(onto.Invalid, "%s: %s should be %s", origin, s.name, want)
	}
	if value.Value == "" {
		return onto.Errorf(onto.Invalid, "%s: %s is empty", origin, s.name).WithHint("give a value, or leave the line out")
	}
	if err := s.check(origin, value.Value); err != nil {
		return err
	}
	l.values[s.name] = value.Value
	return nil
}

// Number returns the value of a setting that is a number.
func (cfg Settings) Number(name string) int64 {
	for _, l := range cfg {
		if text, ok := l.values[name]; ok {
			n, _ := strconv.ParseInt(text, 10, 64) // checked when it was read
			return n
		}
	}
	s, _ := settingOf("", name)
	return s.fallback
}

// Duration returns the value of a setting that is a length of time.
func (cfg Settings) Duration(name string) time.Duration {
	s, _ := settingOf("", name)
	text := cmp.Or(cfg.Text(name), strconv.FormatInt(s.fallback, 10))
	d, _ := s.parseTime(text) // checked when it was read
	return d
}

// Given reports whether a setting has a value that is not its default.
func (cfg Settings) Given(name string) bool {
	return slices.ContainsFunc(cfg, func(l layer) bool { _, ok := l.values[name]; return ok })
}

// bytes returns the value of a setting that is a size, 0 for none.
func (cfg Settings) bytes(name string) int64 {
	n, _ := parseSize(cfg.Text(name)) // checked when it was read
	return n
}

// Text returns the value of a setting that is text.
func (cfg Settings) Text(name string) string {
	for _, l := range cfg {
		if text, ok := l.values[name]; ok {
			return text
		}
	}
	s, _ := settingOf("", name)
	return s.text
}
