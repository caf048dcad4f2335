package config_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/divandb/divan/node/config"
)

// compose is the part of a compose file that this test knows. Unknown members of services are refused, as a typing
// error would be by compose.
type compose struct {
	XNode        yaml.Node `yaml:"x-node"`
	XEnvironment yaml.Node `yaml:"x-environment"`
	Services     map[string]struct {
		Image, Restart  string
		Build           struct{ Context, Dockerfile string }
		StopGracePeriod string `yaml:"stop_grace_period"`
		Ulimits         map[string]int
		DependsOn       yaml.Node `yaml:"depends_on"`
		Entrypoint      []string
		Environment     map[string]string
		Ports, Volumes  []string
		Secrets         []string
		Configs         []struct{ Source, Target string }
		Networks        yaml.Node
	}
	Networks map[string]struct {
		IPAM struct{ Config []struct{ Subnet string } }
	}
	Volumes map[string]struct{}
	Configs map[string]struct{ Content string }
	Secrets map[string]struct{ File string }
}

// The compose file of the example refers only to what it defines, gives each node its own address in the network, and
// has settings that a node accepts.
func TestExample_Compose(t *testing.T) {
	const dir = "../../scripts/examples/cluster"
	f, err := os.Open(filepath.Join(dir, "compose.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	decoder := yaml.NewDecoder(f)
	decoder.KnownFields(true)
	var c compose
	if err := decoder.Decode(&c); err != nil {
		t.Fatal(err)
	}
	if len(c.Networks["divan"].IPAM.Config) != 1 {
		t.Fatal("the network has no addresses")
	}
	subnet, err := netip.ParsePrefix(c.Networks["divan"].IPAM.Config[0].Subnet)
	if err != nil {
		t.Fatal(err)
	}
	secrets, published, nodes := t.TempDir(), map[string]string{}, 0
	for name, text := range map[string]string{"admin": "anna:secret\n", "secret": "long and random\n"} {
		if err := os.WriteFile(filepath.Join(secrets, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, s := range c.Services {
		for _, depends := range names(&s.DependsOn) {
			if _, ok := c.Services[depends]; !ok {
				t.Errorf("%s depends on %s, which does not exist", name, depends)
			}
		}
		for _, network := range names(&s.Networks) {
			if _, ok := c.Networks[network]; !ok {
				t.Errorf("%s is in the network %s, which does not exist", name, network)
			}
		}
		for _, v := range s.Volumes {
			if _, ok := c.Volumes[strings.Split(v, ":")[0]]; !ok {
				t.Errorf("%s uses the volume %s, which does not exist", name, v)
			}
		}
		for _, g := range s.Configs {
			if c.Configs[g.Source].Content == "" {
				t.Errorf("%s uses the file %s, which does not exist", name, g.Source)
			}
		}
		for _, secret := range s.Secrets {
			if c.Secrets[secret].File == "" {
				t.Errorf("%s uses the secret %s, which does not exist", name, secret)
			}
		}
		for _, p := range s.Ports {
			here := p[:strings.LastIndex(p, ":")]
			if other := published[here]; other != "" {
				t.Errorf("%s and %s publish %s", name, other, here)
			}
			published[here] = name
		}
		if !strings.HasPrefix(name, "node") {
			continue
		}
		nodes++
		if _, err := os.Stat(filepath.Join(dir, s.Build.Context, s.Build.Dockerfile)); err != nil {
			t.Error(err)
		}
		var environment []string
		for variable, value := range s.Environment {
			environment = append(environment, variable+"="+strings.Replace(value, "/run/secrets/", secrets+"/", 1))
		}
		got, err := config.Load(nil, environment)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		own, err := netip.ParseAddr(got.Cluster.Advertise)
		if err != nil || !subnet.Contains(own) || !slices.Contains(got.Cluster.Join, got.Cluster.Advertise+":7946") ||
			got.Name != name || got.Cluster.Secret == "" || len(got.AdminPassword) != 1 {
			t.Errorf("%s: %+v", name, got)
		}
		if len(got.Ignored) > 0 {
			t.Errorf("%s: no setting has the variables %q", name, got.Ignored)
		}
	}
	if nodes != 3 {
		t.Errorf("%d nodes", nodes)
	}
}

// names returns the names in a list, or those of a mapping.
func names(n *yaml.Node) (list []string) {
	for i, c := range n.Content {
		if n.Kind == yaml.SequenceNode || i%2 == 0 {
			list = append(list, c.Value)
		}
	}
	return list
}
