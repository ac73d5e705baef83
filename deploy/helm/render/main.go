// Renders the chart for the goldens with Go's text/template, sprig and the Helm functions that the
// chart uses. It is not Helm: hooks, release state, lookup and the cluster's capabilities are
// missing. render.sh runs it with the system's packages and without a network.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"sigs.k8s.io/yaml"
)

const includeDepthMax = 100

type files struct{ directory string }

// Get reads a file of the chart like .Files.Get: a missing file is empty.
func (f files) Get(name string) string {
	text, err := os.ReadFile(filepath.Join(f.directory, filepath.Clean("/"+name)))
	if err != nil {
		return ""
	}
	return string(text)
}

func main() {
	if len(os.Args) != 5 {
		fail(fmt.Errorf("usage: render <chart> <values file> <release> <namespace>"))
	}
	chart, valuesFile, release, namespace := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	about := readYaml(filepath.Join(chart, "Chart.yaml"))
	values := merge(readYaml(filepath.Join(chart, "values.yaml")), readYaml(valuesFile))
	top := map[string]interface{}{
		"Values":  values,
		"Files":   files{chart},
		"Release": map[string]interface{}{"Name": release, "Namespace": namespace, "Service": "Helm", "IsInstall": true, "IsUpgrade": false, "Revision": 1},
		"Chart":   map[string]interface{}{"Name": about["name"], "Version": about["version"], "AppVersion": about["appVersion"]},
	}

	all := template.New("chart").Option("missingkey=zero")
	all.Funcs(functions(all))
	paths, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	fail(err)
	sort.Strings(paths)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		fail(err)
		_, err = all.New(filepath.Base(path)).Parse(string(text))
		fail(err)
	}
	for _, path := range paths {
		if name := filepath.Base(path); strings.HasSuffix(name, ".yaml") {
			top["Template"] = map[string]interface{}{"Name": name, "BasePath": "templates"}
			var out bytes.Buffer
			fail(all.ExecuteTemplate(&out, name, top))
			print(name, out.String())
		} else if name == "NOTES.txt" {
			// The notes are shown at installation and are not part of the goldens. They must only render
			// without an error.
			fail(all.ExecuteTemplate(io.Discard, name, top))
		}
	}
}

// print writes the documents of one template, except empty ones.
func print(name string, text string) {
	for _, document := range strings.Split("\n"+strings.ReplaceAll(text, "<no value>", ""), "\n---") {
		if trimmed := strings.TrimSpace(document); trimmed != "" {
			fmt.Printf("---\n# Source: templates/%s\n%s\n", name, trimmed)
		}
	}
}

func functions(all *template.Template) template.FuncMap {
	depth := 0
	functions := sprig.TxtFuncMap()
	functions["include"] = func(name string, data interface{}) (string, error) {
		depth++
		defer func() { depth-- }()
		if depth > includeDepthMax {
			return "", fmt.Errorf("include %q goes too deep", name)
		}
		var out bytes.Buffer
		err := all.ExecuteTemplate(&out, name, data)
		return out.String(), err
	}
	functions["toYaml"] = func(value interface{}) (string, error) {
		text, err := yaml.Marshal(value)
		return strings.TrimSuffix(string(text), "\n"), err
	}
	functions["fromYaml"] = func(text string) (map[string]interface{}, error) {
		value := map[string]interface{}{}
		err := yaml.Unmarshal([]byte(text), &value)
		return value, err
	}
	functions["required"] = func(message string, value interface{}) (interface{}, error) {
		if value == nil || value == "" {
			return nil, fmt.Errorf("%s", message)
		}
		return value, nil
	}
	return functions
}

// merge overrides the chart's own values by the given ones, key by key; null removes a key.
func merge(own, given map[string]interface{}) map[string]interface{} {
	for key, value := range given {
		under, isMap := own[key].(map[string]interface{})
		over, isMapToo := value.(map[string]interface{})
		switch {
		case value == nil:
			delete(own, key)
		case isMap && isMapToo:
			own[key] = merge(under, over)
		default:
			own[key] = value
		}
	}
	return own
}

func readYaml(path string) map[string]interface{} {
	text, err := os.ReadFile(path)
	fail(err)
	value := map[string]interface{}{}
	fail(yaml.Unmarshal(text, &value))
	return value
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "render:", err)
		os.Exit(1)
	}
}
