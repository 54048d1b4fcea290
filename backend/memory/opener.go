package memory

import (
	"context"
	"crypto/rand"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// Opener opens memory://. Each opening is a new store, with create or without, which is gone
// when it is closed.
var Opener = backend.Opener{
	Schemes: []string{"memory"}, Forms: []string{wholeURI},
	Open: func(_ context.Context, uri string, _ bool) (backend.Backend, error) {
		if err := checkURI(uri); err != nil {
			return nil, err
		}
		return New(nil).Open(), nil
	},
	Identity: func(uri string) (string, error) {
		if err := checkURI(uri); err != nil {
			return "", err
		}
		return wholeURI + "#" + rand.Text(), nil
	},
}

const wholeURI = "memory://"

func checkURI(uri string) error {
	if uri == wholeURI {
		return nil
	}
	return onto.Errorf(onto.Invalid, "the storage URI with memory:// has something after it").WithHint("write memory://; each opening is a store of its own")
}
