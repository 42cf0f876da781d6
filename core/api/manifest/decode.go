package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"whittle/core/api/warning"
)

// Decode reads the objects of one file: YAML documents or JSON, lists among them. It is strict: an
// unknown or repeated field, a value of the wrong type and an object that breaks its own rules are
// errors. The error is of type Errors and holds all of them; the objects returned with it are those that
// are in order. NodePools, NodeClaims and EC2NodeClasses get their defaults.
func Decode(name string, data []byte) (Objects, []Warning, error) {
	d := decoder{}
	for i, doc := range split(data) {
		d.document(Place{File: name, Document: i + 1}, doc)
	}
	if d.errs != nil {
		return d.objects, d.warnings, d.errs
	}
	return d.objects, d.warnings, nil
}

// DecodeLenient reads one object as the API server returns it, and gives it its defaults where it has
// some. Fields that it does not know it skips, since a newer version may have written them; it does not
// validate either.
func DecodeLenient(data []byte, into any) ([]warning.Warning, error) {
	if err := utiljson.Unmarshal(data, into); err != nil {
		return nil, fmt.Errorf("decode %T: %w", into, err)
	}
	if own, isOwn := into.(completed); isOwn {
		return own.SetDefaults(), nil
	}
	return nil, nil
}

// decoder collects what the documents of one file hold.
type decoder struct {
	objects  Objects
	warnings []Warning
	errs     Errors
	// repeated says that the document has a key twice, so that its objects are not what was meant.
	repeated bool
}

func (d *decoder) fail(at Place, fieldPath, message string) {
	d.errs = append(d.errs, Error{Place: at, Field: fieldPath, Message: message})
}

// document reads one document. Repeated keys do not keep it from looking for more that is wrong.
func (d *decoder) document(at Place, text []byte) {
	data, repeated, err := toJSON(text)
	if err != nil {
		d.fail(at, "", plainYAML(err.Error()))
		return
	}
	value, err := generic(data)
	if err != nil {
		d.fail(at, "", err.Error())
		return
	}
	object, isObject := value.(map[string]any)
	if !isObject {
		d.fail(at, "", "want an object with apiVersion and kind")
		return
	}
	at.Kind, at.Name = identity(object)
	d.repeated = len(repeated) > 0
	for _, message := range repeated {
		d.fail(at, "", message)
	}
	if strings.HasSuffix(at.Kind, "List") {
		d.list(at, object)
		return
	}
	d.object(at, object)
}

// list reads each item; those of a list of one kind need not name it.
func (d *decoder) list(at Place, list map[string]any) {
	items, isList := list["items"].([]any)
	if !isList && list["items"] != nil {
		d.fail(at, "items", "want a list, got "+show(list["items"]))
	}
	itemKind := strings.TrimSuffix(at.Kind, "List")
	for i, item := range items {
		at := Place{File: at.File, Document: at.Document, Item: i + 1}
		object, isObject := item.(map[string]any)
		if !isObject {
			d.fail(at, "", "want an object with apiVersion and kind")
			continue
		}
		if _, named := object["kind"]; !named && itemKind != "" {
			object["kind"], object["apiVersion"] = itemKind, list["apiVersion"]
		}
		at.Kind, at.Name = identity(object)
		d.object(at, object)
	}
}

func (d *decoder) object(at Place, object map[string]any) {
	apiVersion, _ := object["apiVersion"].(string)
	kind, err := findKind(apiVersion, at.Kind)
	if err != nil {
		d.fail(at, "", err.Error())
		return
	}
	if at.Name == "" && !isGenerated(object) {
		d.fail(at, "metadata.name", "want a name")
	}
	if kind.goType == nil {
		return
	}
	found := mismatches(kind.name, kind.goType, object)
	for _, mismatch := range found {
		d.fail(at, mismatch.field, mismatch.message)
	}
	if slices.ContainsFunc(found, func(m mismatch) bool { return m.quantity }) {
		return
	}
	data, err := json.Marshal(object)
	if err != nil {
		d.fail(at, "", err.Error())
		return
	}
	add, warnings, errs, err := kind.decode(data)
	if err != nil {
		if len(found) == 0 {
			d.fail(at, "", err.Error())
		}
		return
	}
	for _, warning := range warnings {
		d.warnings = append(d.warnings, Warning{Place: at, Warning: warning})
	}
	d.invalid(at, errs)
	if len(found) == 0 && len(errs) == 0 && !d.repeated {
		add(&d.objects)
		d.objects.note(at)
	}
}

func (d *decoder) invalid(at Place, errs field.ErrorList) {
	for _, err := range errs {
		d.fail(at, err.Field, err.ErrorBody())
	}
}

// identity is the object's kind and name, as far as they are there.
func identity(object map[string]any) (kind, name string) {
	kind, _ = object["kind"].(string)
	metadata, _ := object["metadata"].(map[string]any)
	name, _ = metadata["name"].(string)
	return kind, name
}

// isGenerated reports whether the API server is to name the object.
func isGenerated(object map[string]any) bool {
	metadata, _ := object["metadata"].(map[string]any)
	prefix, _ := metadata["generateName"].(string)
	return prefix != ""
}

// toJSON is the document as JSON, and the messages on the keys that it has twice, of which the last counts.
func toJSON(text []byte) (data []byte, repeated []string, err error) {
	data, strictErr := yaml.YAMLToJSONStrict(text)
	if strictErr == nil {
		return data, nil, nil
	}
	data, err = yaml.YAMLToJSON(text)
	if err != nil {
		return nil, nil, err
	}
	return data, repeatedKeys(strictErr), nil
}

// generic is the JSON as maps, lists and plain values; numbers keep their digits.
func generic(data []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("read document: %w", err)
	}
	return value, nil
}
