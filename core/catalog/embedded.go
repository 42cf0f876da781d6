package catalog

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
)

// The snapshot is the table of ReadTable, compressed. WHITTLE_TYPES says where the table is that it is made of.
//
//go:generate go run ./internal/generate $WHITTLE_TYPES snapshot.csv.gz

//go:embed snapshot.csv.gz
var snapshot []byte

// EmbeddedRegion is the region of the embedded snapshot.
const EmbeddedRegion = "us-east-1"

// Embedded decodes the snapshot of us-east-1 that comes with the program: all instance types, the zones
// they are sold in, on-demand prices and Spot's average saving. It is decoded anew each time, hence to be
// kept by who needs it more than once.
func Embedded() (*Catalog, error) {
	table, err := gzip.NewReader(bytes.NewReader(snapshot))
	if err != nil {
		return nil, fmt.Errorf("open embedded instance types: %w", err)
	}
	shapes, err := ReadTable(table, EmbeddedRegion)
	if err != nil {
		return nil, fmt.Errorf("decode embedded instance types: %w", err)
	}
	return &Catalog{Region: EmbeddedRegion, Shapes: shapes, ZoneIDs: embeddedZoneIDs()}, nil
}

// embeddedZoneIDs is one account's mapping; another account's differs, and its subnets tell it.
func embeddedZoneIDs() map[string]string {
	return map[string]string{
		"us-east-1a": "use1-az6",
		"us-east-1b": "use1-az1",
		"us-east-1c": "use1-az2",
		"us-east-1d": "use1-az4",
		"us-east-1e": "use1-az3",
		"us-east-1f": "use1-az5",
	}
}
