//go:build race

package script_test

const raceDetector = true
