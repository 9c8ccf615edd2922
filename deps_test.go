package rootbound

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/rootbound/rootbound/"

// imports lists, for each package, what it may import of this module.
// docs/design.md draws the same arrows.
var imports = map[string]string{
	"":                  "",
	"cmd/rootbound":     "roots rootedfs mcpfs internal/stdio internal/probe",
	"roots":             "",
	"rootedfs":          "roots internal/sys",
	"clientroots":       "roots",
	"mcpfs":             "roots rootedfs clientroots",
	"internal/frame":    "",
	"internal/stdio":    "internal/frame",
	"internal/probe":    "internal/sys",
	"internal/sys":      "",
	"internal/testenv":  "",
	"internal/testtree": "",
	"vectors":           "",
	"e2e":               "",
	"race":              "",
}

// reserved lists the packages whose use we want to find in one place. The line to
// check first is "os": the file server is not in it. It cannot open a path, it can
// only ask rootedfs.
var reserved = map[string]string{
	"golang.org/x/sys/unix": "internal/sys",
	"unsafe":                "internal/sys",
	"syscall":               "internal/sys rootedfs cmd/rootbound",
	"os":                    "internal/sys rootedfs internal/probe internal/testenv internal/testtree cmd/rootbound",
	"os/exec":               "internal/probe internal/testenv cmd/rootbound",
	"net/http":              "",
	"embed":                 "vectors",
	"github.com/modelcontextprotocol/go-sdk/mcp":     "clientroots mcpfs internal/stdio cmd/rootbound",
	"github.com/modelcontextprotocol/go-sdk/jsonrpc": "clientroots mcpfs internal/stdio cmd/rootbound",
	"github.com/go-json-experiment/json":             "mcpfs cmd/rootbound",
	"github.com/go-json-experiment/json/jsontext":    "internal/frame mcpfs internal/stdio cmd/rootbound",
}

func TestImports(t *testing.T) {
	for _, goos := range []string{"linux", "darwin", "windows"} {
		cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
		cmd.Env = append(os.Environ(), "GOOS="+goos)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		dec := json.NewDecoder(strings.NewReader(string(out)))
		for {
			var p struct {
				ImportPath string
				Imports    []string
			}
			if err := dec.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			pkg := strings.TrimPrefix(p.ImportPath+"/", module)
			pkg = strings.TrimSuffix(pkg, "/")
			if _, ok := imports[pkg]; !ok {
				t.Errorf("%s is a package that the list of arrows does not know", p.ImportPath)
			}
			for _, imp := range p.Imports {
				if dep, ok := strings.CutPrefix(imp, module); ok && !slices.Contains(strings.Fields(imports[pkg]), dep) {
					t.Errorf("GOOS=%s: %s imports %s; docs/design.md has no such arrow", goos, pkg, dep)
				}
				if users, ok := reserved[imp]; ok && !slices.Contains(strings.Fields(users), pkg) {
					t.Errorf("GOOS=%s: %s imports %s, which belongs in %s", goos, pkg, imp, users)
				}
			}
		}
	}
}
