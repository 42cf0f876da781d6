package events_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"whittle/events"
)

func compact(t *testing.T, body []byte) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, body); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestHTTPPayloadsCarryTheAdmissionPayloads(t *testing.T) {
	for _, name := range []string{"failed-scheduling", "node-create", "node-ready", "nodepool-create"} {
		t.Run(name, func(t *testing.T) {
			var request struct {
				Body   string `json:"body"`
				Base64 bool   `json:"isBase64Encoded"`
			}
			if err := json.Unmarshal(readFile(t, "httpapi-"+name+".json"), &request); err != nil {
				t.Fatal(err)
			}
			got := []byte(request.Body)
			if request.Base64 {
				decoded, err := base64.StdEncoding.DecodeString(request.Body)
				if err != nil {
					t.Fatal(err)
				}
				got = decoded
			}
			if diff := cmp.Diff(compact(t, readFile(t, "admission-"+name+".json")), compact(t, got)); diff != "" {
				t.Errorf("body (-admission +httpapi):\n%s", diff)
			}
		})
	}
}

func TestQueuePayloadsCarryOurMessages(t *testing.T) {
	bodies := func(name string) [][]byte {
		var batch struct {
			Records []struct {
				Body string `json:"body"`
			} `json:"Records"`
		}
		if err := json.Unmarshal(readFile(t, name), &batch); err != nil {
			t.Fatal(err)
		}
		var all [][]byte
		for _, record := range batch.Records {
			all = append(all, []byte(record.Body))
		}
		return all
	}
	got := map[string][]any{}
	read := func(name string, decode func([]byte) (any, error)) {
		for _, body := range bodies(name) {
			message, err := decode(body)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got[name] = append(got[name], message)
		}
	}
	read("sqs-provision.json", func(b []byte) (any, error) { return events.DecodeWake(b) })
	read("sqs-lifecycle.json", func(b []byte) (any, error) { return events.DecodeStep(b) })
	read("sqs-sweep.json", func(b []byte) (any, error) { return events.DecodeSweep(b) })
	read("sqs-interrupt.json", func(b []byte) (any, error) { return events.Parse(b) })

	spot, err := events.Parse(readFile(t, "spot-interruption.json"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]any{
		"sqs-provision.json": {events.Wake{Cluster: "demo", Reason: "FailedScheduling", Object: "Pod default/inflate-7c5f6b8d9f-x2k4q"}},
		"sqs-lifecycle.json": {
			events.Step{Cluster: "demo", NodeClaim: "default-7kx2p", Round: 3},
			events.Step{Cluster: "demo", Node: "ip-10-0-31-7.ec2.internal", ProviderID: "aws:///us-east-1b/i-0a1b2c3d4e5f60718"},
		},
		"sqs-sweep.json":     {events.Sweep{Cluster: "demo"}},
		"sqs-interrupt.json": {spot},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}
