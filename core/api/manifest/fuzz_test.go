package manifest_test

import (
	"testing"

	"sigs.k8s.io/yaml"

	"whittle/core/api/karpenter"
	"whittle/core/api/manifest"
)

// FuzzDecode: no input makes Decode panic, and what it takes without an error, Kubernetes' own strict
// decoder takes too.
func FuzzDecode(f *testing.F) {
	for _, pattern := range []string{"*.yaml", "broken/*.yaml"} {
		for _, name := range files(f, pattern) {
			f.Add(read(f, name))
		}
	}
	f.Add([]byte(everyKind()))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte(`{"apiVersion": "v1", "kind": "List", "items": [{}, null, 1]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		objects, _, err := manifest.Decode("fuzz.yaml", data)
		if err != nil && err.Error() == "" {
			t.Error("error without a text")
		}
		if err != nil || len(objects.NodePools) != 1 || len(counts(objects)) != 1 {
			return
		}
		var pool karpenter.NodePool
		if err := yaml.UnmarshalStrict(data, &pool); err != nil && pool.Kind == "NodePool" {
			t.Errorf("the strict decoder refuses what Decode takes: %v", err)
		}
	})
}
