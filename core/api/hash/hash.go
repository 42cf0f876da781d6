// Package hash computes the drift hashes that are written on NodePools, EC2NodeClasses and their
// NodeClaims: a number that changes when, and only when, something changes that the nodes were made from.
package hash

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
)

// Of is the FNV-1a hash, in decimal, of the canonical JSON of parts. Canonical means: keys sorted, null,
// empty strings, empty lists and empty objects left out, and lists compared as sets, so that neither the
// order of taints nor an empty map makes a node drift. False and 0 count: where they are written they
// were meant.
//
// The number is not upstream's, which comes from a reflection library's walk over its own types; see
// wellknown.HashVersion. It panics when a part cannot be written as JSON, which no API object is.
func Of(parts ...any) string {
	raw, err := json.Marshal(parts)
	if err != nil {
		panic(fmt.Sprintf("hash %T: %v", parts, err))
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var values []any
	if err := decoder.Decode(&values); err != nil {
		panic(fmt.Sprintf("hash %T: %v", parts, err))
	}
	sum := fnv.New64a()
	for _, value := range values {
		sum.Write(canonical(value))
		sum.Write([]byte{'\n'})
	}
	return strconv.FormatUint(sum.Sum64(), 10)
}

// canonical is the value's JSON, and empty for a value that says nothing.
func canonical(value any) []byte {
	switch value := value.(type) {
	case nil:
		return nil
	case string:
		if value == "" {
			return nil
		}
	case []any:
		return canonicalSet(value)
	case map[string]any:
		return canonicalObject(value)
	}
	return encode(value)
}

func canonicalSet(items []any) []byte {
	var texts [][]byte
	for _, item := range items {
		if text := canonical(item); text != nil {
			texts = append(texts, text)
		}
	}
	if texts == nil {
		return nil
	}
	slices.SortFunc(texts, bytes.Compare)
	texts = slices.CompactFunc(texts, bytes.Equal)
	return slices.Concat([]byte{'['}, bytes.Join(texts, []byte{','}), []byte{']'})
}

func canonicalObject(fields map[string]any) []byte {
	var texts [][]byte
	for name, value := range fields {
		if text := canonical(value); text != nil {
			texts = append(texts, slices.Concat(encode(name), []byte{':'}, text))
		}
	}
	if texts == nil {
		return nil
	}
	slices.SortFunc(texts, bytes.Compare)
	return slices.Concat([]byte{'{'}, bytes.Join(texts, []byte{','}), []byte{'}'})
}

func encode(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("hash %T: %v", value, err))
	}
	return text
}
