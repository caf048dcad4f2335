package script

import "runtime/debug"

// EngineVersion returns the version of the module that the JavaScript engine, QuickJS, comes from, such as "v0.14.0";
// "unknown" if the program was built without such information.
func EngineVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "modernc.org/libquickjs" {
				return m.Version
			}
		}
	}
	return "unknown"
}
