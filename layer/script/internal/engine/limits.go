package engine

// The bounds of one function that are not settings.
const (
	// maxSource is the longest source text of one function or module.
	maxSource = 1 << 20
	// maxEval is the longest text that a function may give to eval or new Function.
	maxEval = 16 << 10
	// maxRows is how many rows one function may emit for one document.
	maxRows = 100_000
	// maxOutput is how many bytes of JSON these rows may have together. An index takes far less (clause V6).
	maxOutput = 16 << 20
	// maxLogged is how many messages of one call are logged.
	maxLogged = 100
	// maxFrame is how many arguments, variables and temporary values one function may have.
	maxFrame = 2048
)
