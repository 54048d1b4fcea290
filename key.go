package onto

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/ontologia/onto/internal/codec"
)

// KeyText returns the key that a key field's value stands for, which is a string or an int
// in canonical JSON.
func (t FieldType) KeyText(value []byte) string {
	if codec.KindOf(value) == codec.String {
		return codec.Unquote(value)
	}
	return string(value)
}

// KeyValue returns the value of a key field of this type for a key, as canonical JSON. It
// fails if no value has that key.
func (t FieldType) KeyValue(key string) (json.RawMessage, error) {
	if t != Int {
		return codec.AppendString(nil, key)
	}
	if n, err := strconv.ParseInt(key, 10, 64); err == nil && strconv.FormatInt(n, 10) == key {
		return json.RawMessage(key), nil
	}
	return nil, Errorf(Invalid, "%q is not an integer", key)
}

// ObjectKey returns the key of an object with this id, whose shard key is the id: the id
// with %25 for each % and %2F for each /.
func ObjectKey(id string) string { return keyEscapes.Replace(id) }

// ShardedKey returns the key of an object with this shard key and id: both as in [ObjectKey],
// with a / between them.
func ShardedKey(shardKey, id string) string { return ObjectKey(shardKey) + "/" + ObjectKey(id) }

// KeyParts returns the shard key and the id of an object with this key, as [ObjectKey] and
// [ShardedKey] make it. A key of one part stands for an id that is the shard key as well.
func KeyParts(key string) (shardKey, id string, err error) {
	first, second, sharded := strings.Cut(key, "/")
	if !sharded {
		second = first
	}
	shardKey, id = keyTexts.Replace(first), keyTexts.Replace(second)
	if again := ShardedKey(shardKey, id); first == "" || second == "" || again != first+"/"+second {
		return "", "", Errorf(Invalid, "%.400q is no key that is made of a shard key and an id", key).
			WithHint("a %% in one of them is written %%25, and a / %%2F")
	}
	return shardKey, id, nil
}

var (
	keyEscapes = strings.NewReplacer("%", "%25", "/", "%2F")
	keyTexts   = strings.NewReplacer("%25", "%", "%2F", "/")
)
