package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
)

// split cuts a file into its documents, and leaves out those that hold nothing but comments. Each starts
// with as many empty lines as there are lines before it in the file, so that the parser's messages count
// the lines of the file.
func split(data []byte) [][]byte {
	if documents := splitJSON(data); documents != nil {
		return documents
	}
	var documents [][]byte
	var document bytes.Buffer
	hasContent := false
	finish := func(line int) {
		if hasContent {
			documents = append(documents, bytes.Clone(document.Bytes()))
		}
		document.Reset()
		document.Write(bytes.Repeat([]byte{'\n'}, line))
		hasContent = false
	}
	number := 0
	for line := range bytes.Lines(data) {
		if rest, isMarker := afterMarker(line); isMarker {
			finish(number)
			line = rest
		}
		number++
		trimmed := bytes.TrimSpace(line)
		hasContent = hasContent || len(trimmed) > 0 && trimmed[0] != '#'
		document.Write(line)
	}
	finish(0)
	return documents
}

// afterMarker is what follows the line's marker between documents, if it starts with one. YAML allows
// neither marker at the start of a line inside of a document.
func afterMarker(line []byte) ([]byte, bool) {
	for _, marker := range []string{"---", "..."} {
		rest, found := bytes.CutPrefix(line, []byte(marker))
		if found && (len(rest) == 0 || bytes.ContainsAny(rest[:1], " \t\r\n")) {
			return rest, true
		}
	}
	return nil, false
}

// splitJSON cuts a sequence of JSON objects, and returns nil for anything else.
func splitJSON(data []byte) [][]byte {
	decoder := json.NewDecoder(bytes.NewReader(data))
	var documents [][]byte
	for {
		var document json.RawMessage
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return documents
		}
		if err != nil {
			return nil
		}
		documents = append(documents, document)
	}
}

// repeatedKey is how the YAML parser reports a key that a mapping has twice.
var repeatedKey = regexp.MustCompile(`(line [0-9]+): key "(.*)" already set in map`)

// repeatedKeys are the messages on the keys that a mapping has twice.
func repeatedKeys(err error) []string {
	var messages []string
	for _, match := range repeatedKey.FindAllStringSubmatch(err.Error(), -1) {
		messages = append(messages, match[1]+": field \""+match[2]+"\" is set twice")
	}
	if messages == nil {
		return []string{plainYAML(err.Error())}
	}
	return messages
}

// plainYAML is a message of the YAML parser without the names of its packages.
func plainYAML(message string) string {
	message = strings.TrimPrefix(message, "error converting YAML to JSON: ")
	return "is not YAML: " + strings.TrimPrefix(message, "yaml: ")
}
