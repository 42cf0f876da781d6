package manifest

import (
	"fmt"
	"strings"

	"whittle/core/api/warning"
)

// Place is an object's place in a file.
type Place struct {
	File string
	// Document counts the file's documents that are not empty, from 1.
	Document int
	// Item counts the objects of a document that is a list, from 1; 0 in any other.
	Item int
	// Kind and Name are empty where they could not be read.
	Kind, Name string
}

// String is the place as it stands before a message: pools.yaml: document 2 (NodePool "gpu").
func (p Place) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: document %d", p.File, p.Document)
	if p.Item > 0 {
		fmt.Fprintf(&text, ", item %d", p.Item)
	}
	switch {
	case p.Kind != "" && p.Name != "":
		fmt.Fprintf(&text, " (%s %q)", p.Kind, p.Name)
	case p.Kind != "":
		fmt.Fprintf(&text, " (%s)", p.Kind)
	}
	return text.String()
}

// Warning is a remark on an object that is accepted.
type Warning struct {
	Place
	warning.Warning
}

// String is the warning in one line.
func (w Warning) String() string {
	return w.Place.String() + ": " + w.Warning.String()
}

// Error is one thing that is wrong with a file.
type Error struct {
	Place
	// Field is the path of the field, and empty where the whole document is meant.
	Field   string
	Message string
}

// Error names the place, the field and what is wrong.
func (e Error) Error() string {
	if e.Field == "" {
		return e.String() + ": " + e.Message
	}
	return e.String() + ": " + e.Field + ": " + e.Message
}

// Errors is everything that is wrong with a file, in its order.
type Errors []Error

// Error is one line per error.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find the single errors.
func (e Errors) Unwrap() []error {
	errs := make([]error, len(e))
	for i, one := range e {
		errs[i] = one
	}
	return errs
}
