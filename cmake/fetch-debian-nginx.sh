#!/bin/sh
# fetch-debian-nginx.sh DIR [SUITE]   Downloads Debian's nginx source package and unpacks it into
# DIR: the version of the installed nginx, or that of SUITE, for example `sid`. It uses its own apt
# source list and does not change the machine's lists.
set -eu
directory=$1
suite=${2:-}
if [ -f "$directory/src/core/nginx.c" ]; then exit 0; fi
"$(dirname "$0")/install-packages.sh" source

rm -rf "$directory" "$directory.fetch"
mkdir -p "$directory.fetch"
cd "$directory.fetch"

mkdir -p lists/partial archives/partial
apt_source() {
  apt-get -q -o Dir::Etc::SourceList="$PWD/sources.list" -o Dir::Etc::SourceParts=/dev/null \
    -o Dir::State::Lists="$PWD/lists" -o Dir::Cache="$PWD" \
    -o APT::Sandbox::User="$(id -un)" "$@" </dev/null
}
newest() {
  rm -rf lists nginx_*
  mkdir -p lists/partial
  echo "$1" >sources.list
  apt_source update
  # Without Debian's patches, which a mirror may lack, it is still the nginx of this version.
  apt_source source --download-only nginx || test -f nginx_*.orig.tar.gz
}
main='deb-src http://deb.debian.org/debian bookworm main'
security='deb-src http://deb.debian.org/debian-security bookworm-security main'
if [ -n "$suite" ]; then
  newest "deb-src http://deb.debian.org/debian $suite main"
else
  printf '%s\n' "$main" "$security" >sources.list
  apt_source update
  # Fallback if the mirror has no security sources, or not those of the installed version: the same
  # nginx with a few patches less.
  apt_source source --download-only "nginx=$(dpkg-query -W -f='${Version}' nginx)" ||
    newest "$main"
fi
if ls nginx_*.dsc >/dev/null 2>&1; then
  dpkg-source --no-check --extract ./nginx_*.dsc unpacked
else
  mkdir unpacked
  tar -xf nginx_*.orig.tar.gz -C unpacked --strip-components=1
fi
cd - >/dev/null
mv "$directory.fetch/unpacked" "$directory"
rm -rf "$directory.fetch"
