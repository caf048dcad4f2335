package storelock

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// DirHolder returns the process that has locked a directory by its descriptor, or 0 if the system reports none. It
// reads the list of all locks, since testing for the lock would take it. Its lines look like "1: FLOCK ADVISORY WRITE
// 4711 08:02:131074 0 EOF".
func DirHolder(dir string) (process int) {
	var stat syscall.Stat_t
	if syscall.Stat(dir, &stat) != nil {
		return 0
	}
	f, err := os.Open("/proc/locks")
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }() // opened for reading only
	major := stat.Dev>>8&0xfff | stat.Dev>>32&^0xfff
	minor := stat.Dev&0xff | stat.Dev>>12&^0xff
	file := fmt.Sprintf("%02x:%02x:%d", major, uint32(minor), stat.Ino)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 || fields[1] != "FLOCK" || fields[3] != "WRITE" || fields[5] != file {
			continue
		}
		if _, err := fmt.Sscan(fields[4], &process); err == nil {
			return max(process, 0)
		}
	}
	return 0
}
