// Command generate makes the catalog's embedded snapshot out of a CSV table of instance types:
//
//	generate table.csv snapshot.csv.gz
package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"

	"whittle/core/catalog"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: generate TABLE.csv SNAPSHOT.csv.gz")
		os.Exit(2)
	}
	if err := generate(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func generate(from, to string) error {
	table, err := os.Open(from)
	if err != nil {
		return err
	}
	defer table.Close()
	shapes, err := catalog.ReadTable(table, catalog.EmbeddedRegion)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	var out bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := catalog.WriteTable(compressed, catalog.EmbeddedRegion, shapes); err != nil {
		return err
	}
	if err := compressed.Close(); err != nil {
		return fmt.Errorf("compress: %w", err)
	}
	return os.WriteFile(to, out.Bytes(), 0o644)
}
