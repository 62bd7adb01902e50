#!/bin/sh
# fetch-debian-nginx.sh DIR   Unpacks Debian's nginx source package, the version of the installed
# nginx, into DIR. The deb-src line goes into a list of its own; the machine's lists stay as they are.
set -eu
directory=$1
if [ -f "$directory/src/core/nginx.c" ]; then exit 0; fi

rm -rf "$directory" "$directory.fetch"
mkdir -p "$directory.fetch"
cd "$directory.fetch"

mkdir -p lists/partial archives/partial
cat >sources.list <<LIST
deb-src http://deb.debian.org/debian bookworm main
deb-src http://deb.debian.org/debian-security bookworm-security main
LIST
apt_source() {
  apt-get -q -o Dir::Etc::SourceList="$PWD/sources.list" -o Dir::Etc::SourceParts=/dev/null \
    -o Dir::State::Lists="$PWD/lists" -o Dir::Cache="$PWD" \
    -o APT::Sandbox::User="$(id -un)" "$@" </dev/null
}
apt_source update
apt_source source --download-only "nginx=$(dpkg-query -W -f='${Version}' nginx)" ||
  apt_source source --download-only nginx
dpkg-source --no-check --extract ./nginx_*.dsc unpacked
cd - >/dev/null
mv "$directory.fetch/unpacked" "$directory"
rm -rf "$directory.fetch"
