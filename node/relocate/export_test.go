package relocate

import (
	"net/http"
	"time"
)

// SetSilence shortens the time for which a node may be silent.
func (c *Client) SetSilence(d time.Duration) { c.silence = d }

// SetTransport replaces the network.
func (c *Client) SetTransport(t http.RoundTripper) { c.http.Transport = t }
