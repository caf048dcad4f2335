// Package relocate moves databases between stores (C8) for `divan export` and `divan import`, through a node over HTTP
// or in a store that no node has open. The format of export files belongs to layer/internal/export.
package relocate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/divandb/divan/layer"
)

// Source is where a database is exported from.
type Source interface {
	// Export writes the database to w, or, with from, only what an interrupted export lacks.
	Export(ctx context.Context, database string, w io.Writer, from *layer.ExportPosition) error
}

// Salvager exports everything that can be read of a damaged database.
type Salvager interface {
	Salvage(ctx context.Context, database string, w io.Writer) error
}

// Salvage makes a Source of a Salvager. Its exports cannot be continued.
type Salvage struct{ Salvager }

// Export implements Source.
func (s Salvage) Export(ctx context.Context, database string, w io.Writer, from *layer.ExportPosition) error {
	if from != nil {
		return &layer.Error{Kind: layer.Invalid,
			Reason: "an export that leaves out damaged data cannot be continued; remove the partial file"}
	}
	return s.Salvage(ctx, database, w)
}

// Target is where a database is imported into.
type Target interface {
	// Import creates a database from an export, which is read from its beginning. If it fails, nothing remains of the
	// database.
	Import(ctx context.Context, database string, export io.ReadSeeker) error
	// Free returns nil if no database of this name exists and nothing else prevents its creation.
	Free(ctx context.Context, database string) error
}

// ExportFile writes the database to a file. Until the file is complete and checked, it has the name Partial. An
// existing partial file is continued. The error is Exists if the file exists, and Conflict if another export to it is
// running.
func ExportFile(ctx context.Context, from Source, database, file string, p *Progress) (layer.ExportFile, error) {
	partial, err := openPartial(file)
	if err != nil {
		return layer.ExportFile{}, err
	}
	x, err := finishExport(ctx, from, database, partial, p)
	if err != nil {
		return x, errors.Join(explain(err, partial), partial.Close())
	}
	if err := publish(partial, file); err != nil {
		return x, err
	}
	return x, syncDirectory(filepath.Dir(file))
}

// finishExport writes what a partial file lacks, and checks the whole file.
func finishExport(ctx context.Context, from Source, database string, partial *os.File, p *Progress) (layer.ExportFile,
	error) {
	position, complete, err := continueAt(partial, database, p)
	if err != nil {
		return layer.ExportFile{}, err
	}
	if !complete {
		w := p.Writer(partial)
		if err := errors.Join(from.Export(ctx, database, w, position), w.Flush(), partial.Sync()); err != nil {
			return layer.ExportFile{}, &brokenOff{err}
		}
	}
	return checkFile(partial)
}

// brokenOff is the error of an export that was interrupted after it had begun.
type brokenOff struct{ error }

func (b *brokenOff) Unwrap() error { return b.error }

// explain adds advice to the error of a failed export, and removes an empty partial file.
func explain(err error, partial *os.File) error {
	var off *brokenOff
	info, statErr := partial.Stat()
	switch {
	case statErr == nil && info.Size() == 0:
		return errors.Join(err, os.Remove(partial.Name()))
	case layer.KindOf(err) == layer.Conflict:
		return fmt.Errorf("%w (%s)", err, partial.Name())
	case layer.IsDamaged(err):
		return fmt.Errorf("%w; `divan export -skip-damaged` to another file saves everything that can be read", err)
	case errors.As(err, &off):
		return fmt.Errorf("%w; run the same command again to go on", err)
	}
	return err
}

// continueAt truncates a partial file to where it can be continued, and seeks to its end. position is nil for a new
// export.
func continueAt(partial *os.File, database string, p *Progress) (position *layer.ExportPosition, complete bool,
	err error) {
	x, err := layer.ReadExport(partial)
	switch {
	case err != nil && !errors.Is(err, layer.ErrExport):
		return nil, false, err
	case !x.Begun:
		return nil, false, fmt.Errorf("%s is no export; remove it, or give another name", partial.Name())
	case x.Name != "" && x.Name != database:
		return nil, false, fmt.Errorf("%s is an export of the database %s; remove it, or give another name",
			partial.Name(), x.Name)
	case err == nil:
		return nil, true, nil
	}
	if err := partial.Truncate(x.Position.Offset); err != nil {
		return nil, false, err
	}
	if _, err := partial.Seek(x.Position.Offset, io.SeekStart); err != nil || x.Position.Records == 0 {
		return nil, false, err
	}
	p.Say("continuing %s, which has %s so far", partial.Name(), size(x.Position.Offset))
	return &x.Position, false, nil
}

// Summary describes a file in one line.
func Summary(file string, x layer.ExportFile) string {
	if x.LeftOut > 0 {
		return fmt.Sprintf("%s is what can be read of %s: %s, %s; left out because of damage: %d", file,
			x.Name, Count(x.Documents, "document"), size(x.Size), x.LeftOut)
	}
	return fmt.Sprintf("%s is a complete export of %s: %s, %s", file, x.Name, Count(x.Documents, "document"),
		size(x.Size))
}

func checkFile(file *os.File) (layer.ExportFile, error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return layer.ExportFile{}, err
	}
	x, err := layer.ReadExport(file)
	if err != nil {
		err = fmt.Errorf("%s: %w", file.Name(), err)
	}
	return x, err
}

func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// ImportFile creates a database from a file that ExportFile wrote. It checks the whole file before it contacts the
// target.
func ImportFile(ctx context.Context, to Target, database string, file *os.File, p *Progress) (layer.ExportFile, error) {
	if err := to.Free(ctx, database); err != nil {
		return layer.ExportFile{}, err
	}
	x, err := checkFile(file)
	if err != nil {
		return x, err
	}
	p.Say("%s", Summary(file.Name(), x))
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return x, err
	}
	return x, to.Import(ctx, database, p.Reader(file))
}

// Spool copies r, such as standard input, to a file in dir ("" is the system's default) that is removed when it is
// closed.
func Spool(r io.Reader, dir string) (*os.File, error) {
	file, err := os.CreateTemp(dir, "divan-import-*")
	if err != nil {
		return nil, err
	}
	err = os.Remove(file.Name())
	if err == nil {
		_, err = io.Copy(file, r)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Store accesses the databases of a store that this process has open.
type Store struct{ *layer.Store }

// Export implements Source.
func (s Store) Export(ctx context.Context, database string, w io.Writer, from *layer.ExportPosition) error {
	d, err := s.Database(ctx, database)
	if err != nil {
		return err
	}
	return d.Export(ctx, w, from)
}

// Import implements Target.
func (s Store) Import(ctx context.Context, database string, export io.ReadSeeker) error {
	_, err := s.Store.Import(ctx, database, export)
	return err
}

// Free implements Target.
func (s Store) Free(ctx context.Context, database string) error {
	if err := layer.ValidateName(database); err != nil {
		return err
	}
	_, err := s.Database(ctx, database)
	switch {
	case err == nil:
		return &layer.Error{Kind: layer.Exists, Reason: "a database of that name already exists"}
	case layer.KindOf(err) == layer.NotFound:
		return nil
	}
	return err
}
