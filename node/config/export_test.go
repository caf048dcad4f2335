package config

// RowPaths returns the paths of all settings in the table.
func RowPaths() (paths []string) {
	for _, r := range rows {
		if r.def != "" {
			paths = append(paths, r.path)
		}
	}
	return paths
}

// RowsWithoutText returns the settings that have no comment.
func RowsWithoutText() (paths []string) {
	for _, r := range rows {
		if r.def != "" && r.text == "" {
			paths = append(paths, r.path)
		}
	}
	return paths
}
