// Command whittle is the command line: it plays the scenarios of testdata on an embedded world, and
// tells for manifests on disk which nodes would be launched.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// The exit codes.
const (
	exitDone = 0
	// exitUnplaced says that the answer is no: a pod cannot be placed.
	exitUnplaced = 1
	// exitBadInput says that there is no answer: the call or a file is wrong.
	exitBadInput = 2
)

// exitError carries an exit code; its error, if any, is printed.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// run runs the command line and returns its exit code.
func run(args []string, stdin *os.File, stdout, stderr *os.File) int {
	root := &cobra.Command{
		Use:           "whittle",
		Short:         "Node autoscaling for Amazon EKS with no controller in the cluster",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(demoCommand(), simulateCommand())
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.Execute()
	if err == nil {
		return exitDone
	}
	var exit *exitError
	if !errors.As(err, &exit) {
		exit = &exitError{code: exitBadInput, err: err}
	}
	if exit.err != nil {
		fmt.Fprintln(stderr, "whittle:", exit.err)
	}
	return exit.code
}
