package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api"
	"github.com/divandb/divan/node/auth"
	"github.com/divandb/divan/node/couchopts"
)

// adminsSection is the section of server admins.
const adminsSection = "admins"

// errNoAdmins is returned by a node whose last admin was deleted by another node.
var errNoAdmins = errors.New("other machines can reach this node but there is no admin; set admins in node.yaml or " +
	"-admin USER:PASSWORD, or listen on 127.0.0.1")

// sharedOptions connects the options and admins that clients change with the store, which has them for all nodes. It
// implements the Keeper of the settings and the AdminStore of package auth.
type sharedOptions struct {
	store    *layer.Store
	settings *api.Settings
	auth     *auth.Authenticator
	dir      string // for the copy of the admins
	log      *slog.Logger
	open     atomic.Pointer[openDatabases]

	mu struct {
		sync.Mutex
		version int64
		admins  map[string]*string
	}
}

// optionsAgain is the pause before the store is asked again after an error.
const optionsAgain = time.Second

// start reads the options, and follows them until stop.
func (s *sharedOptions) start(ctx context.Context) (stop func(context.Context) error, err error) {
	if err := s.takeOver(ctx); err != nil {
		return nil, err
	}
	o, err := s.store.NodeOptions(ctx)
	switch {
	case err == nil:
		s.adopt(o)
	case layer.Local(err): // damaged: an admin must be able to log in to repair it
		s.log.Error("the options set at run time cannot be read; those in node.yaml hold", "error", err)
		copied, copyErr := auth.AdminsCopy(s.dir)
		if err := errors.Join(copyErr, s.auth.AdminsChanged(copied)); err != nil {
			s.log.Error("neither can the copy of the admins", "error", err)
		}
	default:
		return nil, fmt.Errorf("read the options set at run time: %w", err)
	}
	following, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.follow(following)
	}()
	return func(context.Context) error {
		cancel()
		<-done
		return nil
	}, nil
}

// follow adopts each change by any node.
func (s *sharedOptions) follow(ctx context.Context) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for failures := 0; ; {
		err := s.store.FollowNodeOptions(ctx, func(o layer.NodeOptions) {
			failures = 0
			s.adopt(o)
		})
		if ctx.Err() != nil {
			return
		}
		if failures++; failures == 2 { // once is no outage: the connection is new, or this node was paused
			s.log.Log(ctx, storeLevel(err), "changes of options by other nodes are not seen until the store answers",
				"error", err)
		}
		pause.Reset(optionsAgain)
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
	}
}

// watch has databases checked for being open to everyone after each change of the admins.
func (s *sharedOptions) watch(open *openDatabases) { s.open.Store(open) }

// adopt makes options effective on this node, unless newer ones already are.
func (s *sharedOptions) adopt(o layer.NodeOptions) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.Version < s.mu.version {
		return
	}
	s.mu.version = o.Version
	options := layer.OptionValues{}
	admins := map[string]*string{}
	for name, value := range o.Values {
		if name.Section == adminsSection {
			admins[name.Key] = value
		} else {
			options[name] = value
		}
	}
	s.settings.Adopt(options)
	if s.mu.admins != nil && maps.EqualFunc(s.mu.admins, admins, layer.SameOption) {
		return
	}
	s.mu.admins = admins
	if err := s.auth.AdminsChanged(admins); err != nil {
		s.log.Error("an admin set at run time cannot log in", "error", err)
	}
	if err := auth.KeepAdminsCopy(s.dir, admins); err != nil {
		s.log.Warn("the admins set at run time could not be copied to the data directory", "error", err)
	}
	if open := s.open.Load(); open != nil {
		open.again()
	}
}

// ChangeOptions implements settings.Keeper.
func (s *sharedOptions) ChangeOptions(ctx context.Context, change func(layer.OptionValues) error) error {
	o, err := s.store.ChangeNodeOptions(ctx, change)
	if err == nil {
		s.adopt(o)
	}
	return err
}

// ChangeAdmins implements auth.AdminStore.
func (s *sharedOptions) ChangeAdmins(ctx context.Context, change func(changed map[string]*string) error) error {
	return s.ChangeOptions(ctx, func(o layer.OptionValues) error {
		admins := map[string]*string{}
		for name, value := range o {
			if name.Section == adminsSection {
				admins[name.Key] = value
			}
		}
		if err := change(admins); err != nil {
			return err
		}
		maps.DeleteFunc(o, func(name layer.OptionName, _ *string) bool { return name.Section == adminsSection })
		for name, hash := range admins {
			o[layer.OptionName{Section: adminsSection, Key: name}] = hash
		}
		return nil
	})
}

// takeOver stores the admins that an earlier version kept in the data directory. Those in the store take precedence. If
// the disk cannot be written, the node serves reads nevertheless, and the next start tries again.
func (s *sharedOptions) takeOver(ctx context.Context) error {
	old, taken, err := auth.OldAdmins(s.dir)
	if err != nil || old == nil {
		return err
	}
	if err = s.storeOld(ctx, old); err == nil {
		err = taken()
	}
	if err != nil && ctx.Err() == nil {
		s.log.Error("the admins that an earlier version has kept in the data directory could not be moved to the "+
			"store; the next start tries again", "error", err)
		return nil
	}
	return err
}

func (s *sharedOptions) storeOld(ctx context.Context, old map[string]*string) error {
	if len(old) > 0 {
		if _, err := s.store.ChangeNodeOptions(ctx, func(o layer.OptionValues) error {
			for name, hash := range old {
				key := layer.OptionName{Section: adminsSection, Key: name}
				if _, there := o[key]; !there {
					o[key] = hash
				}
			}
			return nil
		}); err != nil {
			return fmt.Errorf("take over the admins set at run time: %w", err)
		}
	}
	return nil
}

// heed passes changes of options to those who do not read them anew each time.
func (n *Node) heed(sections map[string]bool) {
	changed := false
	for section := range sections {
		changed = changed || auth.IsRuleSection(section)
		if r := n.heeding.Load(); r != nil {
			r.SettingChanged(section)
		}
	}
	n.everyPage.Heed(n.settings.Values(), n.log)
	if level, ok := n.settings.Get("log", "level"); ok && sections["log"] {
		n.levels.usually(couchopts.LogLevel(level))
	}
	if !changed {
		return
	}
	rules, err := auth.ParseRules(auth.Rules{}, n.settings.Values())
	if err == nil {
		err = n.auth.SetRules(rules)
	}
	if err != nil { // settings have checked them
		n.log.Error("options of logins cannot be used", "error", err)
	}
}

// fixedOptions shows what clients look for in the configuration and cannot change.
func fixedOptions(n *Node) {
	c := n.cfg
	host, port, err := net.SplitHostPort(n.httpListener.Addr().String())
	if err == nil {
		n.settings.Fix("chttpd", "bind_address", host)
		n.settings.Fix("chttpd", "port", port)
	}
	if c.Storage.Engine == "embedded" {
		dir := filepath.Join(c.Data, storeDir)
		if full, err := filepath.Abs(dir); err == nil {
			dir = full
		}
		n.settings.Fix("couchdb", "database_dir", dir)
		n.settings.Fix("couchdb", "view_index_dir", dir)
	}
	for name, value := range map[[2]string]string{
		{"chttpd", "max_http_request_size"}: strconv.FormatInt(int64(c.Limits.Request), 10),
		{"couchdb", "max_document_size"}:    strconv.FormatInt(int64(c.Limits.Document), 10),
		{"couchdb", "max_attachment_size"}:  strconv.FormatInt(int64(c.Limits.Attachment), 10),
		{"couchdb", "uuid"}:                 n.store.UUID(),
		{"log", "writer"}:                   "stderr",
		{"vendor", "name"}:                  "Divan",
	} {
		n.settings.Fix(name[0], name[1], value)
	}
}

// storeLevel is the level of a failure: the node tells the operator of a store that does not answer.
func storeLevel(err error) slog.Level {
	if kind := layer.KindOf(err); (kind == layer.Unavailable || kind == layer.Timeout) && !layer.Local(err) {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}
