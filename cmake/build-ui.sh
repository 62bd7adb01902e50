#!/bin/sh
# build-ui.sh [--optional]   Builds Studio, the web page, in build/ui. npm fetches what ui/package-lock.json
# pins, once. With --optional it never fails and does not wait long: the service works without the page.
set -eu
cd "$(dirname "$0")/.."

programs=build/ui-programs

build() {
  if [ -n "$1" ]; then
    command -v npm >/dev/null || return 1
    timeout 180 env npm_config_fetch_timeout=10000 npm_config_fetch_retries=1 npm_config_fetch_retry_mintimeout=500 \
      npm_config_fetch_retry_maxtimeout=1000 cmake/install-npm-programs.sh ui "$programs" >/dev/null 2>&1 || return 1
  else
    cmake/install-npm-programs.sh ui "$programs"
  fi
  "$(echo "$programs"/node_modules/node-linux-*/bin/node)" ui/build.mjs "$programs/node_modules" build/ui
}

if [ "${1:-}" != --optional ]; then
  build ''
elif ! build optional; then
  echo 'build-ui.sh: npm is missing or cannot fetch packages; Studio, the page /ui/, will be a plain page until `make ui`, which installs npm' >&2
fi
