package catalog_test

import (
	"testing"

	"whittle/core/api/aws"
	"whittle/core/catalog"
)

// BenchmarkEmbeddedInstanceTypes decodes the snapshot and computes all types of one class: what a cold
// function does before its first decision. It has to stay below 20 ms.
func BenchmarkEmbeddedInstanceTypes(b *testing.B) {
	for b.Loop() {
		c, err := catalog.Embedded()
		if err != nil {
			b.Fatal(err)
		}
		if types := c.InstanceTypes(&aws.EC2NodeClass{}, catalog.Settings{}); len(types) == 0 {
			b.Fatal("no instance types")
		}
	}
}

func BenchmarkEmbedded(b *testing.B) {
	for b.Loop() {
		if _, err := catalog.Embedded(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRequirements(b *testing.B) {
	c, err := catalog.Embedded()
	if err != nil {
		b.Fatal(err)
	}
	types := c.InstanceTypes(&aws.EC2NodeClass{}, catalog.Settings{})
	b.ReportAllocs()
	for b.Loop() {
		for i := range types {
			types[i].Requirements()
		}
	}
}
