//go:build !unix

package machine

import "time"

func ProcessUse() (used time.Duration, resident int64, ok bool) { return 0, 0, false }
