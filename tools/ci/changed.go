package main

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// changedFiles returns what differs from the newest commit, or, if nothing does, what that
// commit changed.
func (r *runner) changedFiles() ([]string, error) {
	dirty, err := r.output("git", "status", "--porcelain", "--no-renames", "--untracked-files=all")
	if err != nil {
		return nil, err
	}
	if dirty == "" {
		text, err := r.output("git", "show", "--format=", "--name-only", "HEAD")
		return strings.Fields(text), err
	}
	var list []string
	for line := range strings.Lines(dirty) {
		if fields := strings.Fields(line); len(fields) == 2 {
			list = append(list, fields[1])
		}
	}
	return list, nil
}

// packagesOf returns the packages of the module that files belong to: that of their
// directory, or for test data and the like of the nearest one above with Go files.
func packagesOf(root fs.FS, files []string) ([]string, error) {
	var list []string
	for _, file := range files {
		for dir := path.Dir(file); ; dir = path.Dir(dir) {
			if nested, _ := fs.Glob(root, path.Join(dir, "go.mod")); dir != "." && nested != nil {
				break // another module
			}
			found, err := fs.Glob(root, path.Join(dir, "*.go"))
			if err != nil {
				return nil, err
			}
			if name := "./" + dir; found != nil && !strings.Contains(dir, "testdata") {
				if (dir != "." || path.Ext(file) == ".go") && !slices.Contains(list, name) {
					list = append(list, name)
				}
				break
			}
			if dir == "." {
				break
			}
		}
	}
	slices.Sort(list)
	return list, nil
}
