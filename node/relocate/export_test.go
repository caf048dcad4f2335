package relocate

import "time"

// SetSilence shortens the time for which a node may be silent.
func (c *Client) SetSilence(d time.Duration) { c.silence = d }
