// Command lifecycle is the Lambda function that walks NodeClaims through their lives.
package main

import "whittle/functions/embedded"

func main() {
	embedded.Main(func(s *embedded.Stack) embedded.SQSFunction { return s.Lifecycle })
}
