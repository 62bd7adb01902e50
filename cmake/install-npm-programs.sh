#!/bin/sh
# install-npm-programs.sh FOLDER TARGET   Installs the programs that FOLDER's package-lock.json
# pins, and the Node that runs them if it pins one, in TARGET. Debian 12's own Node is too old for them; an
# installed Node is never used. The registry is tried six times, unless npm_config_fetch_retries says otherwise.
set -eu
cd "$(dirname "$0")/.."

# Prints the packages of package.json that are not in TARGET, separated by blanks.
missing() {
  sed -n '/"\(dependencies\|devDependencies\)": {/,/}/s/^ *"\([^"]*\)": ".*/\1/p' "$1/package.json" |
    while read -r package; do
      if [ ! -f "$2/node_modules/$package/package.json" ]; then printf '%s ' "$package"; fi
    done
  # A Node is pinned for each architecture; npm installs one of them.
  if grep -q '"node-linux-' "$1/package.json" && ! ls "$2"/node_modules/node-linux-*/bin/node >/dev/null 2>&1; then
    printf 'node-linux '
  fi
}

installed="$2/installed-lock.json"
if cmp -s "$1/package-lock.json" "$installed" && [ -z "$(missing "$1" "$2")" ]; then exit 0; fi

mkdir -p "$2"
cp "$1/package.json" "$1/package-lock.json" "$2/"
export npm_config_fetch_retries="${npm_config_fetch_retries:-5}"
# The user's settings may leave out kinds of packages, as NODE_ENV=production does.
npm ci --prefix "$2" --include=dev --include=optional --ignore-scripts --no-audit --no-fund --loglevel=error </dev/null
for node in "$2"/node_modules/node-linux-*/bin/node; do
  # Not every folder brings a Node of its own.
  if [ -x "$node" ]; then "$node" --version; fi
done
# npm can report success without having installed a package.
absent=$(missing "$1" "$2")
if [ -n "$absent" ]; then
  echo "install-npm-programs.sh: npm has not installed ${absent% } in $2" >&2
  exit 1
fi
cp "$1/package-lock.json" "$installed"
