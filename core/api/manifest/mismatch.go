package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whittle/core/api/karpenter"
	amounts "whittle/core/resource"
)

// mismatch is a place where an object and its Go type do not agree. The JSON decoder knows of these too,
// but stops at the first one and does not say where a quantity or a duration stood.
type mismatch struct {
	field, message string
	// quantity says that what stood there was to be one. The JSON decoder must not see it: it may take for
	// ever over one.
	quantity bool
}

// mismatches are those of the object, in the order of its field names.
func mismatches(kind string, goType reflect.Type, object map[string]any) []mismatch {
	c := comparison{kind: kind}
	c.compare(goType, object, "")
	return c.found
}

type comparison struct {
	kind  string
	found []mismatch
}

func (c *comparison) add(path, format string, args ...any) {
	c.found = append(c.found, mismatch{field: path, message: fmt.Sprintf(format, args...)})
}

// compare looks at one value; null is as good as no value.
func (c *comparison) compare(goType reflect.Type, value any, path string) {
	if value == nil {
		return
	}
	if goType.Kind() == reflect.Pointer {
		goType = goType.Elem()
	}
	if reader, isReader := reflect.TypeAssert[json.Unmarshaler](reflect.New(goType)); isReader {
		c.compareText(reader, value, path)
		return
	}
	switch goType.Kind() {
	case reflect.Struct:
		c.compareStruct(goType, value, path)
	case reflect.Map:
		c.compareMap(goType, value, path)
	case reflect.Slice:
		c.compareSlice(goType, value, path)
	case reflect.Interface:
	default:
		c.compareScalar(goType, value, path)
	}
}

func (c *comparison) compareStruct(goType reflect.Type, value any, path string) {
	object, isObject := value.(map[string]any)
	if !isObject {
		c.add(path, "want an object, got %s", show(value))
		return
	}
	fields := fieldsOf(goType)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		at := child(path, name)
		if fieldType, known := fields[name]; known {
			c.compare(fieldType, object[name], at)
		} else {
			c.add(at, "%s", c.unknown(at, name, fields))
		}
	}
}

func (c *comparison) compareMap(goType reflect.Type, value any, path string) {
	object, isObject := value.(map[string]any)
	if !isObject {
		c.add(path, "want keys with values, got %s", show(value))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		c.compare(goType.Elem(), object[name], child(path, name))
	}
}

func (c *comparison) compareSlice(goType reflect.Type, value any, path string) {
	if goType.Elem().Kind() == reflect.Uint8 {
		if _, isString := value.(string); !isString {
			c.add(path, "want a string in base64, got %s", show(value))
		}
		return
	}
	list, isList := value.([]any)
	if !isList {
		c.add(path, "want a list, got %s", show(value))
		return
	}
	for i, item := range list {
		c.compare(goType.Elem(), item, fmt.Sprintf("%s[%d]", path, i))
	}
}

func (c *comparison) compareScalar(goType reflect.Type, value any, path string) {
	number, isNumber := value.(json.Number)
	switch goType.Kind() {
	case reflect.String:
		switch value.(type) {
		case string:
		case json.Number, bool:
			c.add(path, "want a string, got %s; put it in quotes", show(value))
		default:
			c.add(path, "want a string, got %s", show(value))
		}
	case reflect.Bool:
		if _, isBool := value.(bool); !isBool {
			c.add(path, "want true or false, got %s", show(value))
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if _, err := strconv.ParseInt(number.String(), 10, goType.Bits()); !isNumber || err != nil {
			c.add(path, "want a whole number, got %s", show(value))
		}
	default:
		if !isNumber {
			c.add(path, "want a number, got %s", show(value))
		}
	}
}

// compareText looks at a value whose type reads its own JSON.
func (c *comparison) compareText(reader json.Unmarshaler, value any, path string) {
	text, err := json.Marshal(value)
	if err == nil {
		err = readText(reader, text)
	}
	if err == nil {
		return
	}
	switch reader.(type) {
	case *resource.Quantity:
		c.add(path, "%s is not a quantity, want e.g. \"1000\" or \"500m\"", show(value))
		c.found[len(c.found)-1].quantity = true
	case *metav1.Duration:
		c.add(path, "%s is not a duration, want e.g. \"30s\" or \"1h30m\"", show(value))
	case *karpenter.NillableDuration:
		c.add(path, "%s is not a duration, want e.g. \"30s\", \"720h\" or \"Never\"", show(value))
	case *metav1.Time, *metav1.MicroTime:
		c.add(path, "%s is not a time, want e.g. \"2026-01-31T09:00:00Z\"", show(value))
	default:
		c.add(path, "%s: %s", show(value), err)
	}
}

func readText(reader json.Unmarshaler, text []byte) error {
	if _, isQuantity := reader.(*resource.Quantity); isQuantity {
		_, err := amounts.Parse(strings.TrimSpace(strings.Trim(string(text), `"`)))
		return err
	}
	return reader.UnmarshalJSON(text)
}

// unknown says what to do about a field that the type does not have.
func (c *comparison) unknown(path, name string, fields map[string]reflect.Type) string {
	if fate := oldField(c.kind, path); fate != "" {
		return "unknown field: it " + fate
	}
	if near := nearest(name, slices.Sorted(maps.Keys(fields))); near != "" {
		return fmt.Sprintf("unknown field, did you mean %q?", near)
	}
	const few = 12
	if len(fields) <= few {
		return "unknown field, want one of " + strings.Join(slices.Sorted(maps.Keys(fields)), ", ")
	}
	return "unknown field"
}

// fieldsOf are the struct's fields by their JSON names, those of its inlined structs among them.
func fieldsOf(goType reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for f := range goType.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case f.Anonymous && name == "":
			maps.Copy(fields, fieldsOf(f.Type))
		case f.IsExported() && name != "":
			fields[name] = f.Type
		}
	}
	return fields
}

// child is the path of a field, or of a map's key, which may contain dots and slashes.
func child(path, name string) string {
	switch {
	case strings.ContainsAny(name, "./"):
		return path + "[" + name + "]"
	case path == "":
		return name
	default:
		return path + "." + name
	}
}

// show is a value as its author wrote it, as far as it can be told, on one line.
func show(value any) string {
	switch value := value.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return strconv.Quote(value)
	default:
		return fmt.Sprint(value)
	}
}
