package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/divandb/divan/node/config"
)

// defaultURL is the address of a node with default settings.
const defaultURL = "http://127.0.0.1:5984"

// nodeAddress returns the address of the node that a command asks: given, or DIVAN_URL, or the content of the file that
// DIVAN_URL_FILE names, which keeps the password in it out of the environment, or the default.
func nodeAddress(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	address, file := os.Getenv("DIVAN_URL"), os.Getenv("DIVAN_URL_FILE")
	switch {
	case address != "" && file != "":
		return "", errors.New("DIVAN_URL_FILE is set together with DIVAN_URL")
	case address != "":
		return address, nil
	case file == "":
		return defaultURL, nil
	}
	address, err := config.ReadValue(file)
	if err != nil {
		return "", fmt.Errorf("DIVAN_URL_FILE: %w", err)
	}
	return address, nil
}
