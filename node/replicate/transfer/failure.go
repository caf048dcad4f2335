package transfer

// Failure is why a run failed: the step that failed, as CouchDB names it, and its error.
type Failure struct {
	Step string
	Err  error
}

func (f *Failure) Error() string { return f.Step + ": " + f.Err.Error() }
func (f *Failure) Unwrap() error { return f.Err }

// failed returns a Failure.
func failed(step string, err error) error { return &Failure{step, err} }
