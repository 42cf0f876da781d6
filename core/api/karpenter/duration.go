package karpenter

import (
	"encoding/json"
	"fmt"
	"time"
)

// Never is how a NillableDuration spells "does not happen".
const Never = "Never"

// NillableDuration is a duration in hours, minutes and seconds, or Never. It keeps the text it was
// read from, so that an object is written back as its author wrote it.
//
// +kubebuilder:validation:Type=string
// +kubebuilder:validation:Pattern=`^(([0-9]+(s|m|h))+|Never)$`
// +kubebuilder:validation:Schemaless
type NillableDuration struct { //nolint:recvcheck // encoding/json writes values and reads into pointers
	// Duration is nil for Never.
	Duration *time.Duration
	text     string
}

// After returns a NillableDuration of d.
func After(d time.Duration) NillableDuration {
	return NillableDuration{Duration: &d, text: d.String()}
}

// NeverHappens returns the NillableDuration that is spelled Never.
func NeverHappens() NillableDuration {
	return NillableDuration{text: Never}
}

// String is the duration as it was written.
func (d NillableDuration) String() string {
	switch {
	case d.text != "":
		return d.text
	case d.Duration == nil:
		return Never
	default:
		return d.Duration.String()
	}
}

// Equal reports whether both last equally long, however they are written.
func (d NillableDuration) Equal(other NillableDuration) bool {
	if d.Duration == nil || other.Duration == nil {
		return d.Duration == other.Duration
	}
	return *d.Duration == *other.Duration
}

// UnmarshalJSON reads a Go duration or Never.
func (d *NillableDuration) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("duration %s: want a string such as \"30s\", \"720h\" or \"Never\"", data)
	}
	if text == Never {
		*d = NeverHappens()
		return nil
	}
	value, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("duration %q: want hours, minutes and seconds such as \"1h30m\", or \"Never\"", text)
	}
	*d = NillableDuration{Duration: &value, text: text}
	return nil
}

// MarshalJSON writes the duration as it was read.
func (d NillableDuration) MarshalJSON() ([]byte, error) {
	return json.Marshal(d.String())
}

// DeepCopyInto copies d into out.
func (d NillableDuration) DeepCopyInto(out *NillableDuration) {
	*out = d
	if d.Duration != nil {
		value := *d.Duration
		out.Duration = &value
	}
}
