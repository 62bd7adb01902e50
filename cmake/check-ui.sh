#!/bin/sh
# check-ui.sh   Checks the types, the format and the style of Studio's sources.
set -eu
cd "$(dirname "$0")/.."

cmake/install-npm-programs.sh ui build/ui-programs >/dev/null
cmake/install-npm-programs.sh t/ui build/ui-tests >/dev/null
programs=build/ui-tests/node_modules
node=$(echo "$programs"/node-linux-*/bin/node)
"$node" "$programs/typescript/bin/tsc" --project ui
cd ui
"../$node" "../$programs/@biomejs/biome/bin/biome" check --error-on-warnings src build.mjs ../t/ui/browser.mjs
echo 'check-ui: clean'
