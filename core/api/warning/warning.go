// Package warning holds what Whittle has to say about an object that it accepts: old spellings it has
// translated, and settings that are legal but seldom meant.
package warning

import "k8s.io/apimachinery/pkg/util/validation/field"

// Warning is one remark on one field. It never stops anything: callers show it (admission warning,
// status condition, command line).
type Warning struct {
	// Field is the path of the field in its object, such as spec.disruption.budgets[0].
	Field string `json:"field"`
	// Message says what is odd, and what it is taken to mean.
	Message string `json:"message"`
}

// New is a Warning about the field at path.
func New(path *field.Path, message string) Warning {
	return Warning{Field: path.String(), Message: message}
}

// String is the warning in one line.
func (w Warning) String() string {
	return w.Field + ": " + w.Message
}
