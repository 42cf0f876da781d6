package catalog

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// ReadTable reads shapes from a CSV table, one instance type a row, with the columns that columnsOf
// names, in any order and all of them. Zones and prices are those of region. The shapes come sorted.
func ReadTable(r io.Reader, region string) ([]Shape, error) {
	reader := csv.NewReader(r)
	reader.ReuseRecord = true
	header, err := reader.Read()
	if err != nil {
		return nil, fmt.Errorf("read header: %w", err)
	}
	columns, err := arrange(columnsOf(region), header)
	if err != nil {
		return nil, err
	}
	shapes := make([]Shape, 0, expectedShapes)
	for {
		row, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read row: %w", err)
		}
		var shape Shape
		for i, column := range columns {
			if err := column.read(&shape, row[i]); err != nil {
				line, _ := reader.FieldPos(i)
				return nil, fmt.Errorf("line %d, column %s: %w", line, column.name, err)
			}
		}
		shapes = append(shapes, shape)
	}
	slices.SortFunc(shapes, func(a, b Shape) int { return strings.Compare(a.Name, b.Name) })
	return shapes, nil
}

// expectedShapes is somewhat above what a region sells.
const expectedShapes = 1500

// WriteTable writes shapes so that ReadTable reads the same.
func WriteTable(w io.Writer, region string, shapes []Shape) error {
	columns := columnsOf(region)
	writer := csv.NewWriter(w)
	row := make([]string, len(columns))
	for i, column := range columns {
		row[i] = column.name
	}
	if err := writer.Write(row); err != nil {
		return fmt.Errorf("write header: %w", err)
	}
	for i := range shapes {
		for j, column := range columns {
			row[j] = column.write(&shapes[i])
		}
		if err := writer.Write(row); err != nil {
			return fmt.Errorf("write %s: %w", shapes[i].Name, err)
		}
	}
	writer.Flush()
	if err := writer.Error(); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return nil
}

// arrange puts columns into the order of a table's header.
func arrange(columns []column, header []string) ([]column, error) {
	arranged := make([]column, 0, len(columns))
	for _, name := range header {
		i := slices.IndexFunc(columns, func(c column) bool { return c.name == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown column %q", name)
		}
		arranged = append(arranged, columns[i])
	}
	for _, c := range columns {
		if !slices.Contains(header, c.name) {
			return nil, fmt.Errorf("column %q is missing", c.name)
		}
	}
	return arranged, nil
}

// column is one figure of a shape as text.
type column struct {
	name  string
	read  func(s *Shape, text string) error
	write func(s *Shape) string
}

func columnsOf(region string) []column {
	suffix := "_" + strings.ReplaceAll(region, "-", "_")
	return []column{
		text("type", func(s *Shape) *string { return &s.Name }),
		text("arch", func(s *Shape) *string { return &s.Arch }),
		number("vcpus", func(s *Shape) *int { return &s.VCPUs }),
		number("memory_mib", func(s *Shape) *int64 { return &s.MemoryMiB }),
		text("hypervisor", func(s *Shape) *string { return &s.Hypervisor }),
		flag("bare_metal", func(s *Shape) *bool { return &s.BareMetal }),
		flag("burstable", func(s *Shape) *bool { return &s.Burstable }),
		flag("current_generation", func(s *Shape) *bool { return &s.CurrentGeneration }),
		text("cpu_manufacturer", func(s *Shape) *string { return &s.CPUManufacturer }),
		decimal("clock_ghz", func(s *Shape) *float64 { return &s.ClockGHz }),
		number("default_card_enis", func(s *Shape) *int { return &s.DefaultCardENIs }),
		number("ipv4_per_eni", func(s *Shape) *int { return &s.IPv4PerENI }),
		number("total_enis", func(s *Shape) *int { return &s.TotalENIs }),
		number("network_cards", func(s *Shape) *int { return &s.NetworkCards }),
		flag("ipv6", func(s *Shape) *bool { return &s.IPv6 }),
		number("network_baseline_mbps", func(s *Shape) *int { return &s.NetworkBaselineMbps }),
		number("network_peak_mbps", func(s *Shape) *int { return &s.NetworkPeakMbps }),
		number("ebs_baseline_mbps", func(s *Shape) *int { return &s.EBSBaselineMbps }),
		number("ebs_max_attachments", func(s *Shape) *int { return &s.EBSMaxAttachments }),
		text("ebs_attachment_limit", func(s *Shape) *string { return &s.EBSAttachmentLimit }),
		number("local_nvme_gb", func(s *Shape) *int { return &s.LocalNVMeGB }),
		text("gpu_name", func(s *Shape) *string { return &s.GPUName }),
		text("gpu_manufacturer", func(s *Shape) *string { return &s.GPUManufacturer }),
		number("gpu_count", func(s *Shape) *int { return &s.GPUCount }),
		number("gpu_memory_mib", func(s *Shape) *int { return &s.GPUMemoryMiB }),
		text("accelerator_name", func(s *Shape) *string { return &s.AcceleratorName }),
		text("accelerator_manufacturer", func(s *Shape) *string { return &s.AcceleratorManufacturer }),
		number("accelerator_count", func(s *Shape) *int { return &s.AcceleratorCount }),
		number("neuron_cores", func(s *Shape) *int { return &s.NeuronCores }),
		number("efa_max", func(s *Shape) *int { return &s.EFAMax }),
		flag("encryption_in_transit", func(s *Shape) *bool { return &s.EncryptionInTransit }),
		list("usage_classes", "", func(s *Shape) *[]string { return &s.UsageClasses }),
		list("zones"+suffix, region, func(s *Shape) *[]string { return &s.Zones }),
		decimal("on_demand_usd"+suffix, func(s *Shape) *float64 { return &s.OnDemandUSD }),
		optionalNumber("spot_saving_pct"+suffix, func(s *Shape) **int { return &s.SpotSavingPercent }),
		number("spot_interruption_bucket"+suffix, func(s *Shape) *int { return &s.InterruptionBucket }),
		number("branch_enis", func(s *Shape) *int { return &s.BranchENIs }),
		flag("trunking", func(s *Shape) *bool { return &s.Trunking }),
	}
}

func text(name string, field func(*Shape) *string) column {
	return column{
		name:  name,
		read:  func(s *Shape, text string) error { *field(s) = text; return nil },
		write: func(s *Shape) string { return *field(s) },
	}
}

// number is a whole number; an empty text is zero.
func number[T int | int64](name string, field func(*Shape) *T) column {
	return column{
		name: name,
		read: func(s *Shape, text string) error {
			if text == "" {
				return nil
			}
			n, err := strconv.ParseInt(text, 10, 64)
			*field(s) = T(n)
			return err
		},
		write: func(s *Shape) string { return strconv.FormatInt(int64(*field(s)), 10) },
	}
}

// optionalNumber is a whole number, or nil for an empty text.
func optionalNumber(name string, field func(*Shape) **int) column {
	return column{
		name: name,
		read: func(s *Shape, text string) error {
			if text == "" {
				return nil
			}
			n, err := strconv.Atoi(text)
			*field(s) = &n
			return err
		},
		write: func(s *Shape) string {
			if *field(s) == nil {
				return ""
			}
			return strconv.Itoa(**field(s))
		},
	}
}

// decimal is a number with a fraction; an empty text is zero.
func decimal(name string, field func(*Shape) *float64) column {
	return column{
		name: name,
		read: func(s *Shape, text string) (err error) {
			if text != "" {
				*field(s), err = strconv.ParseFloat(text, 64)
			}
			return err
		},
		write: func(s *Shape) string { return strconv.FormatFloat(*field(s), 'f', -1, 64) },
	}
}

// flag is 1 or 0.
func flag(name string, field func(*Shape) *bool) column {
	return column{
		name: name,
		read: func(s *Shape, text string) error {
			if text != "0" && text != "1" {
				return fmt.Errorf("%q is neither 0 nor 1", text)
			}
			*field(s) = text == "1"
			return nil
		},
		write: func(s *Shape) string {
			if *field(s) {
				return "1"
			}
			return "0"
		},
	}
}

// list is words joined by slashes, each without the prefix that all have in the shape. Shapes with the
// same text share one slice, as there are few different ones.
func list(name, prefix string, field func(*Shape) *[]string) column {
	seen := map[string][]string{}
	return column{
		name: name,
		read: func(s *Shape, text string) error {
			words, known := seen[text]
			if !known && text != "" {
				words = strings.Split(text, "/")
				for i, word := range words {
					words[i] = prefix + word
				}
				seen[text] = words
			}
			*field(s) = words
			return nil
		},
		write: func(s *Shape) string {
			words := make([]string, len(*field(s)))
			for i, word := range *field(s) {
				words[i] = strings.TrimPrefix(word, prefix)
			}
			return strings.Join(words, "/")
		},
	}
}
