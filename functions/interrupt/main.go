// Command interrupt is the Lambda function that reacts to what EC2 announces about instances.
package main

import "whittle/functions/embedded"

func main() {
	embedded.Main(func(s *embedded.Stack) embedded.SQSFunction { return s.Interrupt })
}
