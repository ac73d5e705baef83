#!/usr/bin/env bash
# Renders the goldens of the chart: `deploy/helm/render.sh`, or `--check` to fail on a difference.
# Exit 3: this system has no Go with sprig (Debian: golang-go, golang-github-masterminds-sprig-dev,
# golang-k8s-sigs-yaml-dev).
set -euo pipefail
cd "$(dirname "$0")"
export GO111MODULE=off GOPATH="${GATEWAY_GOPATH:-/usr/share/gocode}" GOFLAGS= GOPROXY=off GOTOOLCHAIN=local
if ! command -v go >/dev/null || [ ! -d "$GOPATH/src/github.com/Masterminds/sprig" ] || [ ! -d "$GOPATH/src/sigs.k8s.io/yaml" ]; then
  echo "no Go with sprig and sigs.k8s.io/yaml here: the chart was not rendered"
  exit 3
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/render" ./render
for values in refused/*.yaml; do
  # The first line of the file is the expected error.
  wanted=$(sed -n '1s/^# //p' "$values")
  said=$("$work/render" model-gateway "$values" gw gateway 2>&1 >/dev/null) && { echo "$values is rendered, but should be refused: $wanted"; exit 1; }
  case $said in *"$wanted"*) ;; *) echo "$values is refused, but not with: $wanted: $said"; exit 1 ;; esac
done
for values in values/*.yaml; do
  name=$(basename "$values" .yaml)
  "$work/render" model-gateway "$values" gw gateway >"$work/$name.yaml"
  if [ "${1:-}" = --check ]; then
    diff -u "goldens/$name.yaml" "$work/$name.yaml" || { echo "goldens/$name.yaml is not what the chart renders: run deploy/helm/render.sh"; exit 1; }
  else
    mkdir -p goldens
    cp "$work/$name.yaml" "goldens/$name.yaml"
  fi
done
