package filtertest_test

import (
	"os"
	"testing"

	"github.com/ontologia/onto/internal/effort"
)

func TestMain(m *testing.M) { os.Exit(effort.Main(m)) }
