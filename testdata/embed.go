// Package testdata holds the manifests that the demo plays and that tests read, as people write them.
package testdata

import "embed"

// Files are the manifests, by their names in this folder.
//
//go:embed *.yaml broken/*.yaml
var Files embed.FS
