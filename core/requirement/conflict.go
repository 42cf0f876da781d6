package requirement

import (
	"fmt"
	"slices"
	"strings"

	"whittle/core/api/wellknown"
)

// ConflictError is why two sets do not go together: the alphabetically first key on which they disagree.
type ConflictError struct {
	Key string
	// Have is the requirement of the set asked, Want that of the incoming set.
	Have, Want Requirement
	// Undefined says that the set asked knows nothing of the label, and that it had to.
	Undefined bool
	// Hint is a known label that may have been meant; only for an undefined one, and often empty.
	Hint string
}

// Error says which label, what is wanted of it and what is possible.
func (c *ConflictError) Error() string {
	if !c.Undefined {
		return fmt.Sprintf("label %q: wanted %s, possible %s", c.Key, c.Want.condition(), c.Have.condition())
	}
	text := fmt.Sprintf("label %q does not have known values: wanted %s", c.Key, c.Want.condition())
	if c.Hint != "" {
		text += fmt.Sprintf(" (typo of %q?)", c.Hint)
	}
	return text
}

// Intersects reports, as a *ConflictError, the first key of both sets for which no value satisfies both. Where
// both sides hold for an absent label, an empty overlap is no conflict. Upstream asks for the operators NotIn
// or DoesNotExist there, which lets exclusions within bounds pass though bounds need a value.
func (s Set) Intersects(o Set) error {
	key, found := s.disjoint(o)
	if !found {
		return nil
	}
	return &ConflictError{Key: key, Have: s[key], Want: o[key]}
}

// disjoint is the first key of both sets on which they conflict.
func (s Set) disjoint(o Set) (first string, found bool) {
	shorter := s
	if len(o) < len(s) {
		shorter = o
	}
	for key := range shorter {
		if found && key >= first {
			continue
		}
		have, known := s[key]
		want, asked := o[key]
		if !known || !asked || have.overlaps(want) || have.ToleratesAbsence() && want.ToleratesAbsence() {
			continue
		}
		first, found = key, true
	}
	return first, found
}

// Compatible reports, as a *ConflictError, why a thing described by s cannot satisfy incoming; nil when it
// can. A key that s says nothing about is free when undefinedAllowed holds for it (WellKnown for what is
// yet to be launched; nil, none, for real nodes, whose labels are complete), and satisfies NotIn and
// DoesNotExist in any case.
func (s Set) Compatible(incoming Set, undefinedAllowed func(key string) bool) error {
	if key, found := s.undefined(incoming, undefinedAllowed); found {
		return &ConflictError{Key: key, Have: s.Get(key), Want: incoming[key], Undefined: true, Hint: s.hint(key)}
	}
	return s.Intersects(incoming)
}

// undefined is the first key of incoming that s would have to define and does not.
func (s Set) undefined(incoming Set, allowed func(key string) bool) (first string, found bool) {
	for key, want := range incoming {
		if found && key >= first || s.Has(key) || want.ToleratesAbsence() {
			continue
		}
		if allowed != nil && allowed(key) {
			continue
		}
		first, found = key, true
	}
	return first, found
}

// hint is a well-known label or one of s that ends in the same name as key, or else contains it.
func (s Set) hint(key string) string {
	known := slices.Concat(wellknown.Labels(), s.Keys())
	if i := slices.IndexFunc(known, func(k string) bool { return k != key && labelName(k) == labelName(key) }); i >= 0 {
		return known[i]
	}
	if i := slices.IndexFunc(known, func(k string) bool { return k != key && strings.Contains(k, key) }); i >= 0 {
		return known[i]
	}
	return ""
}

// labelName is the part of a label's key after its domain.
func labelName(key string) string {
	return key[strings.LastIndexByte(key, '/')+1:]
}
