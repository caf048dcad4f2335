package engine

// Limits of one function that are not settings.
const (
	// maxSource is the longest source text of one function or module.
	maxSource = 1 << 20
	// maxEval is the longest text that a function may give to eval or new Function.
	maxEval = 16 << 10
	// maxRows bounds the rows that one function emits for one document.
	maxRows = 100_000
	// maxOutput bounds the bytes of JSON in these rows. An index accepts far less (clause V6).
	maxOutput = 16 << 20
	// maxResponse bounds the JSON that a show, update or rewrite function returns.
	maxResponse = 64 << 20
	// maxLogged bounds the messages of one call that are logged.
	maxLogged = 100
	// maxFrame bounds the arguments, variables and temporary values of one function.
	maxFrame = 2048
)
