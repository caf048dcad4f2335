package pgwire

import (
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/divandb/divan/query/sqlstate"
)

// Notification is a notification for LISTEN or, if Notice is set, a notice that no statement caused.
type Notification struct {
	PID              uint32
	Channel, Payload string
	Notice           *sqlstate.Error
}

// Wake implements Client. A goroutine of the connection sends notifications while the client is silent, so that callers
// never wait for a client.
func (c *conn) Wake() {
	c.waking.Lock()
	defer c.waking.Unlock()
	if c.waking.ended {
		return
	}
	if c.waking.wake == nil {
		c.waking.wake = make(chan struct{}, 1)
		wake := c.waking.wake
		c.helpers.Go(func() {
			for {
				select {
				case <-c.ctx.Done():
					return
				case <-wake:
				}
				c.idle.Lock()
				if c.idle.is {
					c.sendNotifications()
					_ = c.out.Flush()
				}
				c.idle.Unlock()
			}
		})
	}
	select {
	case c.waking.wake <- struct{}{}:
	default:
	}
}

// setIdle sets whether notifications may be sent at any time: between messages, outside transactions.
func (c *conn) setIdle(on bool) {
	c.idle.Lock()
	defer c.idle.Unlock()
	c.idle.is = on && c.outside
	if c.idle.is {
		c.sendNotifications()
	}
}

func (c *conn) sendNotifications() {
	for _, n := range c.session.Notifications() {
		if n.Notice != nil {
			c.Notice(n.Notice)
			continue
		}
		c.send(&pgproto3.NotificationResponse{PID: n.PID, Channel: c.encodeAnyway(n.Channel),
			Payload: c.encodeAnyway(n.Payload)})
	}
}

// endHelpers waits for the connection's goroutines, after its context has ended and it has been closed.
func (c *conn) endHelpers() {
	c.waking.Lock()
	c.waking.ended = true
	c.waking.Unlock()
	c.helpers.Wait()
}
