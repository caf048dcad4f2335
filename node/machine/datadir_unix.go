//go:build unix

package machine

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// checkDirectory examines who may use the data directory, and returns a warning if others than the owner may, or if
// another user owns it. Such a directory is used nevertheless: containers and shared machines have them on purpose.
func checkDirectory(dir string) (warning string) {
	info, err := os.Stat(dir)
	if err != nil {
		return "" // reported when the directory is opened
	}
	mode := info.Mode()
	if mode.Perm()&0o002 != 0 && mode&fs.ModeSticky == 0 {
		return fmt.Sprintf("anyone on this machine can replace the store in the data directory %s (mode %03o); "+
			"run: chmod 700 %s", dir, mode.Perm(), dir)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int64(stat.Uid) != int64(os.Geteuid()) {
		return fmt.Sprintf("the data directory %s belongs to user %d, and this process is user %d", dir, stat.Uid,
			os.Geteuid())
	}
	if mode.Perm()&0o077 != 0 {
		return fmt.Sprintf("others on this machine have access to the data directory %s (mode %03o); "+
			"run: chmod 700 %s", dir, mode.Perm(), dir)
	}
	return ""
}

// readableByAll reports whether every user of the machine can read a file.
func readableByAll(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().Perm()&0o004 != 0
}
