package onto

import (
	"encoding/json"
	"strings"

	"github.com/ontologia/onto/internal/codec"
)

// fieldTag is a parsed onto tag.
type fieldTag struct {
	key, index, search, instance, many bool
	instanceName, enum, fallback       string
}

// empty reports whether the tag says nothing.
func (t fieldTag) empty() bool { return t == fieldTag{} }

// inner is what the tag says about a field below the top.
func (t fieldTag) inner() fieldTag {
	return fieldTag{index: t.index, enum: t.enum, fallback: t.fallback}
}

func parseTag(whole string) (fieldTag, error) {
	var tag fieldTag
	for s := whole; s != ""; {
		if value, ok := strings.CutPrefix(s, "default="); ok {
			if value == "" {
				return tag, Errorf(Invalid, "tag onto:%q has an empty default", whole)
			}
			tag.fallback = value
			return tag, nil
		}
		word, rest, _ := strings.Cut(s, ",")
		switch {
		case word == "key":
			tag.key = true
		case word == "index":
			tag.index = true
		case word == "search":
			tag.search = true
		case word == "many":
			tag.many = true
		case word == "instance":
			tag.instance = true
		case strings.HasPrefix(word, "enum="):
			if tag.enum = strings.TrimPrefix(word, "enum="); tag.enum == "" {
				return tag, Errorf(Invalid, "tag onto:%q has an empty enum", whole)
			}
		case strings.HasPrefix(word, "instance="):
			tag.instance, tag.instanceName = true, strings.TrimPrefix(word, "instance=")
		default:
			return tag, Errorf(Invalid, "tag onto:%q has the unknown word %q", whole, word).
				WithHint("use key, index, search, instance, many, enum=A|B or default=JSON")
		}
		s = rest
	}
	return tag, nil
}

// readEnum sets the values that a string or an int can have, or each element of a list of
// these, as a tag lists them.
func (f *Field) readEnum(list string) error {
	switch {
	case list == "":
		return nil
	case f.Type == List && f.Items != nil:
		return f.Items.readEnum(list)
	}
	for text := range strings.SplitSeq(list, "|") {
		value := json.RawMessage(text)
		if f.Type == String {
			quoted, err := codec.AppendString(nil, text)
			if err != nil {
				return Errorf(Invalid, "enum value %q: %w", text, err)
			}
			value = quoted
		}
		f.Enum = append(f.Enum, value)
	}
	return nil
}
