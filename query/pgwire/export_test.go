package pgwire

// SetSpare sets the file that Serve opens as the spare one.
func (s *Server) SetSpare(name string) { s.spareFile = name }
