#!/bin/sh
# install-mock-provider.sh   Puts the pinned Node and the programs that the tests talk to into build/node.
# Debian 12's own Node is too old for them; a Node that happens to be installed is never used.
set -eu
cd "$(dirname "$0")/.."

installed=build/node/installed-lock.json
if cmp -s t/package-lock.json "$installed"; then exit 0; fi

mkdir -p build/node
cp t/package.json t/package-lock.json build/node/
npm ci --prefix build/node --fetch-retries=5 --ignore-scripts --no-audit --no-fund --loglevel=error </dev/null
for node in build/node/node_modules/node-linux-*/bin/node; do "$node" --version; done
cp t/package-lock.json "$installed"
