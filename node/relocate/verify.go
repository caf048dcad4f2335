package relocate

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/divandb/divan/layer"
)

// maxVerifyLine bounds a line in the response to POST /_verify.
const maxVerifyLine = 4 << 20

// Verify asks the node to verify its store, with POST /_verify. It reports what layer.Store's Verify does.
func (c *Client) Verify(ctx context.Context, o layer.VerifyOptions) (done layer.Verified, err error) {
	body, err := json.Marshal(struct {
		Database string `json:"database,omitempty"`
		Digests  bool   `json:"digests,omitempty"`
	}{o.Database, o.Digests})
	if err != nil {
		return done, err
	}
	address := strings.TrimSuffix(c.base.String(), "/") + "/_verify"
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(string(body)))
	if err != nil {
		return done, errors.New("the address is invalid")
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := c.do(r)
	if err != nil {
		return done, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return done, refusal(answer)
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, maxVerifyLine)
	for lines.Scan() {
		var said struct {
			Progress *layer.VerifyProgress
			Damage   *layer.Damage
			Done     *layer.Verified
			Error    string
			Reason   string
		}
		if err := json.Unmarshal(lines.Bytes(), &said); err != nil {
			if lines.Err() != nil {
				break // the line was cut off
			}
			return done, fmt.Errorf("the node's answer is invalid: %w", err)
		}
		switch {
		case said.Error != "":
			return done, fmt.Errorf("the node answered %s: %s", said.Error, said.Reason)
		case said.Progress != nil:
			err = o.Progress(*said.Progress)
		case said.Damage != nil:
			err = o.Damage(said.Damage)
		case said.Done != nil:
			return *said.Done, nil
		}
		if err != nil {
			return done, err
		}
	}
	if err := lines.Err(); err != nil {
		return done, fmt.Errorf("%s: the answer ended early: %w", c.base.Redacted(), err)
	}
	return done, fmt.Errorf("%s: the answer ended early", c.base.Redacted())
}

// Verifier is a store that can be verified: a node's, or one that this process has open.
type Verifier interface {
	Verify(ctx context.Context, o layer.VerifyOptions) (layer.Verified, error)
}

// PrintVerified verifies a database, or all if none is named. It writes one line for each fault, or a line that says
// what was read if there is none, and returns the number of faults.
func PrintVerified(ctx context.Context, v Verifier, database string, digests bool, out io.Writer,
	p *Progress) (faults int, err error) {
	var told time.Time
	done, err := v.Verify(ctx, layer.VerifyOptions{
		Database: database, Digests: digests,
		Progress: func(now layer.VerifyProgress) error {
			if p.Every == 0 || time.Since(told) < p.Every {
				return nil
			}
			told = time.Now()
			switch {
			case now.Total > 0:
				p.Say("read %s of %s of files", size(now.Bytes), size(now.Total))
			case now.Step != "":
				p.Say("compared %s, %s", Count(now.Rows, "row"), now.Step)
			default:
				p.Say("read %s", Count(now.Rows, "row"))
			}
			return nil
		},
		Damage: func(d *layer.Damage) error {
			_, err := fmt.Fprintln(out, d)
			return err
		},
	})
	if err != nil {
		return 0, err
	}
	read := fmt.Sprintf("read %s (%s) and %s of %s", Count(done.Blocks, "block"), size(done.Bytes),
		Count(done.Rows, "row"), Count(done.Databases, "database"))
	if !done.Files {
		read = fmt.Sprintf("read %s of %s, and no files, since this node has none", Count(done.Rows, "row"),
			Count(done.Databases, "database"))
	}
	if done.Faults > 0 {
		p.Say("%s: %s", read, Count(done.Faults, "fault"))
		return done.Faults, nil
	}
	_, err = fmt.Fprintf(out, "%s: nothing is damaged\n", read)
	return 0, err
}

// PrintLeftOut lists what an export left out because of damage, and reports whether there is anything.
func PrintLeftOut(out io.Writer, x layer.ExportFile) (some bool, err error) {
	for i := range x.Left {
		if _, err := fmt.Fprintln(out, &x.Left[i]); err != nil {
			return true, err
		}
	}
	if n := x.LeftOut - int64(len(x.Left)); n > 0 {
		_, err = fmt.Fprintf(out, "and %d more\n", n)
	}
	return x.LeftOut > 0, err
}
