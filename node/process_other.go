//go:build !unix

package node

import "time"

func processUse() (used time.Duration, resident int64, ok bool) { return 0, 0, false }
