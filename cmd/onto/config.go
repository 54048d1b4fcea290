package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ontologia/onto"
)

// layer is one source of settings.
type layer struct {
	origin string            // for messages
	values map[string]string // by setting
}

// configuration is the layers, the strongest first: flags, environment, the
// project's file, the user's file.
type configuration []layer

// maxConfig is how many bytes a configuration file may have.
const maxConfig = 1 << 20

// configure reads every source of settings.
func (c *command) configure() (configuration, error) {
	environment, err := environmentLayer()
	if err != nil {
		return nil, err
	}
	all := configuration{c.flagLayer(), environment}
	for _, f := range c.configFiles() {
		l, err := fileLayer(f.path, f.must)
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

// flagLayer is the settings that are global flags.
func (c *command) flagLayer() layer {
	l := layer{"the command line", map[string]string{}}
	if c.db != "" {
		l.values["db"] = c.db
	}
	if c.storageURI != "" {
		l.values["storage_uri"] = c.storageURI
	}
	return l
}

// environmentLayer reads ONTO_ variables. An empty one counts as unset.
func environmentLayer() (layer, error) {
	l := layer{"the environment", map[string]string{}}
	for _, s := range settings() {
		name := "ONTO_" + strings.ToUpper(s.name)
		value := os.Getenv(name)
		if value == "" {
			continue
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

func (c *command) configFiles() []configFile {
	files := []configFile{{"onto.yaml", false}}
	if named := c.config; named != "" {
		files[0] = configFile{named, true}
	} else if named := os.Getenv("ONTO_CONFIG"); named != "" {
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

// take checks and keeps the keys of a YAML document. An empty one has none.
func (l *layer) take(doc *yaml.Node) error {
	if len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
		return nil
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return onto.Errorf(onto.Invalid, "%s: expected keys with values", l.origin).
			WithHint("for example: lock_timeout_ms: 5000")
	}
	for i := 0; i < len(root.Content); i += 2 {
		if err := l.takeKey(root.Content[i], root.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

func (l *layer) takeKey(key, value *yaml.Node) error {
	origin := l.origin + ", line " + strconv.Itoa(key.Line)
	s, err := settingOf(origin, key.Value)
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

// number returns the value of a setting that is a number.
func (cfg configuration) number(name string) int64 {
	for _, l := range cfg {
		if text, ok := l.values[name]; ok {
			n, _ := strconv.ParseInt(text, 10, 64) // checked when it was read
			return n
		}
	}
	s, _ := settingOf("", name)
	return s.fallback
}

// bytes returns the value of a setting that is a size, 0 for none.
func (cfg configuration) bytes(name string) int64 {
	n, _ := parseSize(cfg.text(name)) // checked when it was read
	return n
}

// text returns the value of a setting that is text.
func (cfg configuration) text(name string) string {
	for _, l := range cfg {
		if text, ok := l.values[name]; ok {
			return text
		}
	}
	s, _ := settingOf("", name)
	return s.text
}
