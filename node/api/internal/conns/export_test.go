package conns

// SetSpare sets the file that is opened as the spare one from now on.
func (l *Listener) SetSpare(name string) { l.spare.name = name }
