package auth

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const secretFile = "session.secret"

// SessionSecret is what signs cookies: derived from shared where nodes share a secret, so that any of them accepts the session of any
// other; else a random one that is made once and kept in dir.
func SessionSecret(dir, shared string) ([]byte, error) {
	if shared != "" {
		return mac([]byte(shared), "divan session cookies"), nil
	}
	file := filepath.Join(dir, secretFile)
	secret, err := os.ReadFile(file)
	if err == nil && len(secret) >= 16 {
		return secret, nil
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		secret = []byte(rand.Text())
		err = writeFile(file, secret)
	}
	if err != nil {
		return nil, fmt.Errorf("keep the secret of session cookies: %w", err)
	}
	return secret, nil
}
