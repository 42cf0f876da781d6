// Package catalog will be written by its owner.
package catalog

// Catalog placeholder.
type Catalog struct{}
