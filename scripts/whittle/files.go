package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"whittle/core/api/manifest"
)

// readFiles reads manifests from files; "-" is standard input. The error holds everything that is wrong
// with all of them.
func readFiles(names []string, stdin io.Reader) (manifest.Objects, []manifest.Warning, error) {
	var objects manifest.Objects
	var warnings []manifest.Warning
	var failures []error
	for _, name := range names {
		data, err := readFile(name, stdin)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		found, remarks, err := manifest.Decode(name, data)
		objects.Add(found)
		warnings = append(warnings, remarks...)
		failures = append(failures, err)
	}
	return objects, warnings, errors.Join(failures...)
}

func readFile(name string, stdin io.Reader) ([]byte, error) {
	if name != "-" {
		return os.ReadFile(name) //nolint:gosec // the user names the files to read
	}
	data, err := io.ReadAll(stdin)
	if err != nil {
		return nil, fmt.Errorf("read standard input: %w", err)
	}
	return data, nil
}
