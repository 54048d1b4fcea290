package shape

import (
	"strconv"
	"strings"

	"github.com/ontologia/onto"
)

// KeyType is the type of an entity's key field.
func (t *Type) KeyType() onto.FieldType {
	f, _ := t.Schema.Field(t.Schema.Key)
	return f.Type
}

// CheckKey refuses a text that is not the key of any entity of the type.
func (t *Type) CheckKey(key string) error {
	_, err := t.keyValue(t.Schema.Key, key)
	return err
}

// KeyHint says which key was meant by one that CheckKey refuses.
func (t *Type) KeyHint(key string) string {
	if t.KeyType() == onto.Int {
		if n, err := strconv.ParseInt(strings.TrimSpace(key), 10, 64); err == nil {
			return "write it as " + strconv.FormatInt(n, 10)
		}
	}
	return "its key " + t.Schema.Key + " is of type " + string(t.KeyType())
}
