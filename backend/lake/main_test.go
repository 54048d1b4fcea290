package lake

import (
	"os"
	"testing"

	"github.com/ontologia/onto/backend/lake/bucket/filetest"
)

func TestMain(m *testing.M) {
	os.Exit(filetest.RunInMemory(m))
}
