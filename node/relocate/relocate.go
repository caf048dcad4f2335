// Package relocate carries databases out of one store and into another (C8): what `divan export` and `divan import` do,
// through a node over HTTP or in a store that no node has open. What such a file has in it is the layer's business
// (layer/internal/export).
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
	// Export writes the database to w; with from, what an export that was broken off there has not got yet.
	Export(ctx context.Context, database string, w io.Writer, from *layer.ExportPosition) error
}

// Salvager is where all that can be read of a damaged database is exported from.
type Salvager interface {
	Salvage(ctx context.Context, database string, w io.Writer) error
}

// Salvage makes a Salvager a Source. What it exports cannot be continued.
type Salvage struct{ Salvager }

// Export implements Source.
func (s Salvage) Export(ctx context.Context, database string, w io.Writer, from *layer.ExportPosition) error {
	if from != nil {
		return &layer.Error{Kind: layer.Invalid,
			Reason: "an export that leaves out what is damaged cannot be continued; remove the partial file"}
	}
	return s.Salvage(ctx, database, w)
}

// Target is where a database is imported into.
type Target interface {
	// Import makes a database of an export, which is read from its beginning. Nothing of it stays where that fails.
	Import(ctx context.Context, database string, export io.ReadSeeker) error
	// Free is nil where there is no such database yet, and none stands in its way.
	Free(ctx context.Context, database string) error
}

// ExportFile writes the database to a file, which is there when it is complete and checked; until then it has the name
// Partial. A partial file that is there already is continued. Exists where the file itself is, Conflict where another
// export to it is under way.
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

// finishExport writes what a partial file lacks, and checks the whole.
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

// brokenOff is the error of an export that had begun.
type brokenOff struct{ error }

func (b *brokenOff) Unwrap() error { return b.error }

// explain says what to do after an export that failed, and removes a partial file with nothing in it.
func explain(err error, partial *os.File) error {
	var off *brokenOff
	info, statErr := partial.Stat()
	switch {
	case statErr == nil && info.Size() == 0:
		return errors.Join(err, os.Remove(partial.Name()))
	case layer.KindOf(err) == layer.Conflict:
		return fmt.Errorf("%w (%s)", err, partial.Name())
	case layer.IsDamaged(err):
		return fmt.Errorf("%w; `divan export -skip-damaged` to another file saves all that can be read", err)
	case errors.As(err, &off):
		return fmt.Errorf("%w; run the same command again to go on", err)
	}
	return err
}

// continueAt cuts a partial file off where it can be continued, and moves to its end. position is nil for a new export.
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
	p.Say("going on with %s, which has %s so far", partial.Name(), size(x.Position.Offset))
	return &x.Position, false, nil
}

// Summary is a file in a line.
func Summary(file string, x layer.ExportFile) string {
	if x.LeftOut > 0 {
		return fmt.Sprintf("%s is what can be read of %s: %d documents, %s; left out because of damage: %d", file,
			x.Name, x.Documents, size(x.Size), x.LeftOut)
	}
	return fmt.Sprintf("%s is a whole export of %s: %d documents, %s", file, x.Name, x.Documents, size(x.Size))
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

// ImportFile makes a database of a file that ExportFile wrote. The file is checked as a whole before anything is asked
// of the target.
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

// Spool keeps what comes from r, such as standard input, in a file in dir ("" is the system's) that is gone when it is
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

// Store is the databases of a store that this process has open.
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
		return &layer.Error{Kind: layer.Exists, Reason: "there is a database of that name already"}
	case layer.KindOf(err) == layer.NotFound:
		return nil
	}
	return err
}
