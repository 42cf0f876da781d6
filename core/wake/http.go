package wake

import (
	"errors"
	"fmt"
)

// The little of HTTP that is spoken here. Package net/http has it too, and a server, a client and
// TLS with it, for which a verb has no use.
const (
	methodPost = "POST"
	typeJSON   = "application/json"

	statusOK                  = 200
	statusBadRequest          = 400
	statusForbidden           = 403
	statusNotFound            = 404
	statusMethodNotAllowed    = 405
	statusTooLarge            = 413
	statusUnsupportedType     = 415
	statusUnprocessable       = 422
	statusInternalServerError = 500
)

// refusal is an error with the HTTP status that tells it.
type refusal struct {
	status  int
	problem string
}

// Error is the problem, as it goes into the response.
func (r *refusal) Error() string { return r.problem }

func refused(status int, format string, args ...any) error {
	return &refusal{status: status, problem: fmt.Sprintf(format, args...)}
}

// refuse answers a request that is no proper callback.
func refuse(err error) Response {
	status := statusInternalServerError
	if r, ok := errors.AsType[*refusal](err); ok {
		status = r.status
	}
	header := map[string]string{"content-type": "text/plain; charset=utf-8"}
	if status == statusMethodNotAllowed {
		header["allow"] = methodPost
	}
	return Response{Status: status, Header: header, Body: []byte(err.Error() + "\n")}
}
