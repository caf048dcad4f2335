// Package intake reads the bodies of requests, within one budget of memory for all that are under way (Budget) and at a
// pace below which a client is cut off (Body). It also ends requests whose body nobody wanted. What is in a body it
// does not know, but for whether it is JSON.
package intake
