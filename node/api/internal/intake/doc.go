// Package intake reads the bodies of requests, within one memory budget for all running requests (Budget) and with a
// minimum pace, below which a client is cut off (Body). It also finishes requests whose body was not read. It does not
// interpret bodies, except to validate JSON.
package intake
