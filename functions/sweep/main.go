// Command sweep is the Lambda function that goes over a whole cluster each minute.
package main

import "whittle/functions/embedded"

func main() {
	embedded.Main(func(s *embedded.Stack) embedded.SQSFunction { return s.Sweep })
}
