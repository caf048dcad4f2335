// Package replications has the endpoints of replications: /_replicate and /_scheduler. What runs them comes through an
// interface.
package replications
