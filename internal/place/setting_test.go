package place

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every setting that is listed is read somewhere: one that nothing reads would be
// accepted, and without effect.
func TestEveryListedSettingIsRead(t *testing.T) {
	root := filepath.Join("..", "..")
	var text strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || d.Name() == "setting.go" {
			return err
		}
		file, err := os.ReadFile(path)
		text.Write(file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	names := settingNames()
	for _, name := range names {
		if !strings.Contains(text.String(), `("`+name+`")`) && !strings.Contains(text.String(), `["`+name+`"]`) {
			t.Errorf("nothing reads the setting %s", name)
		}
	}
	if len(names) < 20 {
		t.Errorf("%d settings are listed", len(names))
	}
}
