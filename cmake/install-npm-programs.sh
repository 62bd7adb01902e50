#!/bin/sh
# install-npm-programs.sh FOLDER TARGET   Installs the programs that FOLDER's package-lock.json
# pins, and the Node that runs them if it pins one, in TARGET. Debian 12's own Node is too old for them; an
# installed Node is never used. The registry is tried six times, unless npm_config_fetch_retries says otherwise.
set -eu
cd "$(dirname "$0")/.."

installed="$2/installed-lock.json"
if cmp -s "$1/package-lock.json" "$installed"; then exit 0; fi

mkdir -p "$2"
cp "$1/package.json" "$1/package-lock.json" "$2/"
export npm_config_fetch_retries="${npm_config_fetch_retries:-5}"
npm ci --prefix "$2" --ignore-scripts --no-audit --no-fund --loglevel=error </dev/null
for node in "$2"/node_modules/node-linux-*/bin/node; do
  # Not every folder brings a Node of its own.
  if [ -x "$node" ]; then "$node" --version; fi
done
cp "$1/package-lock.json" "$installed"
