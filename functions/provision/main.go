// Command provision is the Lambda function that plans and launches nodes for pods that wait for one.
package main

import "whittle/functions/embedded"

func main() {
	embedded.Main(func(s *embedded.Stack) embedded.SQSFunction { return s.Provision })
}
