#!/bin/sh
# fetch-newer-nginx.sh DIR   Puts the source of a newer nginx than Debian 12's into DIR: that of
# Debian's unstable suite, or, where the mirror does not have it, the one that the nginx project
# publishes as a crate, if there is a cargo that can fetch it.
set -eu
directory=$1
crate=nginx-src
version=1.28.5
if [ -f "$directory/src/core/nginx.c" ]; then exit 0; fi

if "$(dirname "$0")/fetch-debian-nginx.sh" "$directory" sid >/dev/null 2>&1; then exit 0; fi
rm -rf "$directory" "$directory.fetch"
command -v cargo >/dev/null
# Fetches and unpacks the crate, and checks its checksum.
cargo info --quiet "$crate@$version" >/dev/null 2>&1
cp -R "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/"$crate-$version"*/nginx "$directory"
