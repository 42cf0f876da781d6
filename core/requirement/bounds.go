package requirement

import "strconv"

// bounds are optional inclusive limits on the integer that a label's value spells.
type bounds struct {
	gte, lte       int64
	hasGTE, hasLTE bool
}

// empty reports whether no integer lies within.
func (b bounds) empty() bool {
	return b.hasGTE && b.hasLTE && b.gte > b.lte
}

// admit reports whether value lies within; what is not an integer does so only when there is no bound.
func (b bounds) admit(value string) bool {
	if !b.hasGTE && !b.hasLTE {
		return true
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return false
	}
	return (!b.hasGTE || n >= b.gte) && (!b.hasLTE || n <= b.lte)
}

func (b bounds) intersection(o bounds) bounds {
	if o.hasGTE && (!b.hasGTE || o.gte > b.gte) {
		b.gte, b.hasGTE = o.gte, true
	}
	if o.hasLTE && (!b.hasLTE || o.lte < b.lte) {
		b.lte, b.hasLTE = o.lte, true
	}
	return b
}
