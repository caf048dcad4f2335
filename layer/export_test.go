package layer

import (
	"context"
	"time"
)

// SweepUploads runs the hourly sweep of one database as it will be at a time.
func SweepUploads(ctx context.Context, d *Database, now time.Time) error {
	return d.sweepUploads(ctx, now)
}
