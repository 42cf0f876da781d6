package events

import (
	"encoding/json"
	"strings"
	"time"
)

// text is a string of which any other JSON value makes the empty one: where a field is not needed,
// its form must not fail the event.
type text string

// UnmarshalJSON takes a string and ignores anything else.
func (t *text) UnmarshalJSON(data []byte) error {
	var value string
	if json.Unmarshal(data, &value) == nil {
		*t = text(value)
	}
	return nil
}

// stringOrList is the envelope's resources, which AWS documents as a list and sometimes sends as a
// bare string.
type stringOrList []string

// UnmarshalJSON takes a list of strings or a string and ignores anything else.
func (s *stringOrList) UnmarshalJSON(data []byte) error {
	var list []string
	if json.Unmarshal(data, &list) == nil {
		*s = list
		return nil
	}
	var single string
	if json.Unmarshal(data, &single) == nil && single != "" {
		*s = []string{single}
	}
	return nil
}

func firstNonEmpty(values ...text) string {
	for _, value := range values {
		if value != "" {
			return string(value)
		}
	}
	return ""
}

// readTime reads the forms in which AWS writes times: RFC 3339 in envelopes and RFC 1123 in Health
// events, there with days of one or two digits. What cannot be read is the zero time.
func readTime(written string) time.Time {
	written = strings.TrimSpace(written)
	for _, layout := range []string{
		time.RFC3339,
		"Mon, 2 Jan 2006 15:04:05 MST",
		"Mon, 2 Jan 2006 15:04:05 -0700",
		"2006-01-02 15:04:05",
	} {
		if t, err := time.Parse(layout, written); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

// isInstanceID tells instances from the other things events are about.
func isInstanceID(id string) bool {
	digits, found := strings.CutPrefix(id, "i-")
	if !found || digits == "" {
		return false
	}
	for _, r := range digits {
		if (r < '0' || r > '9') && (r < 'a' || r > 'f') {
			return false
		}
	}
	return true
}

// instanceID checks the field instance-id of a detail.
func instanceID(detailType, id string) ([]string, error) {
	switch {
	case id == "":
		return nil, malformed(detailType, "detail.instance-id is missing")
	case !isInstanceID(id):
		return nil, malformed(detailType, "detail.instance-id is %q, want i- and hexadecimal digits", id)
	}
	return []string{id}, nil
}
