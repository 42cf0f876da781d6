// Package crds holds the CustomResourceDefinitions of the objects that Whittle acts on, as generated from
// their Go types. Change a type, run go generate in this folder, and check in what it writes.
package crds

import (
	"embed"
	"fmt"
	"io/fs"
)

//go:generate go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0 object crd paths=../karpenter paths=../aws output:crd:artifacts:config=.

//go:embed *.yaml
var files embed.FS

// CRD is one CustomResourceDefinition.
type CRD struct {
	// File is its file name, such as karpenter.sh_nodepools.yaml.
	File string
	// YAML is the definition, as the API server takes it.
	YAML []byte
}

// All are the definitions in the order of their file names.
func All() ([]CRD, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list definitions: %w", err)
	}
	all := make([]CRD, len(names))
	for i, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read definition: %w", err)
		}
		all[i] = CRD{File: name, YAML: data}
	}
	return all, nil
}
