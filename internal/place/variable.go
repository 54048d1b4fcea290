package place

import (
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/suggest"
)

// variablePrefix is how the names of the variables begin that are the command's.
const variablePrefix = "ONTO_"

// EnvConfig is the variable that names a file in place of ./onto.yaml.
const EnvConfig = "ONTO_CONFIG"

// The environment of a command that handles an event.
const (
	EnvEvent     = "ONTO_EVENT_ID"
	EnvRoot      = "ONTO_EVENT_ROOT"
	EnvDepth     = "ONTO_EVENT_DEPTH"
	EnvType      = "ONTO_EVENT_TYPE"
	EnvNamespace = "ONTO_NAMESPACE"
	EnvAttempt   = "ONTO_ATTEMPT"
)

// otherVariables is the variables that are no settings.
func otherVariables() []string {
	return []string{EnvConfig, EnvEvent, EnvRoot, EnvDepth, EnvType, EnvNamespace, EnvAttempt}
}

// variable is the variable that gives the setting.
func (s setting) variable() string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(s.name, ".", "_"))
}

// unknownVariable is the error for a variable that nothing reads.
func unknownVariable(name string) error {
	names := []string{EnvConfig}
	for _, s := range settings() {
		if !s.taken {
			names = append(names, s.variable())
		}
	}
	err := onto.Errorf(onto.Invalid, "the environment: %.80s is not a setting", name)
	// The prefix is alike in all names, so only what follows it is compared.
	if near := suggest.Name(strings.TrimPrefix(name, variablePrefix), trimmed(names)); near != "" && len(name) <= onto.MaxName {
		return err.WithHint("did you mean %s%s? Otherwise unset it", variablePrefix, near)
	}
	return err.WithHint("unset it; the settings are %s", settingList())
}

func trimmed(names []string) []string {
	for i, name := range names {
		names[i] = strings.TrimPrefix(name, variablePrefix)
	}
	return names
}
