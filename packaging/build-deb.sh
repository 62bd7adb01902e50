#!/bin/bash
# build-deb.sh   Builds the Debian packages of this checkout in build/deb, for the nginx that is
# installed, and checks them with lintian. `make deb` installs what it needs, then runs it.
#
# The packages are built in build/deb/source, a copy of the checkout whose objects are kept. The
# version is that of CMakeLists.txt and of the Debian release: 0.2.0~deb12.
set -euo pipefail
cd "$(dirname "$0")/.."
export DEBFULLNAME=${DEBFULLNAME:-Agent Graph authors}
export DEBEMAIL=${DEBEMAIL:-maintainers@agent-graph.example}
jobs=${JOBS:-$(nproc)}

# Prints the files of the checkout, without what was built and without API keys for Compose (.env).
files() {
  if [[ -e .git ]]; then
    git ls-files -z --cached --others --exclude-standard
  else
    find . -path ./build -prune -o -type f ! -name .env -print0
  fi
}

source=build/deb/source
mkdir -p "$source"
find "$source" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
files | tar --null --files-from=- --ignore-failed-read -cf - | tar -C "$source" -xf -
cp -R packaging/debian "$source/debian"
for built in docs ui; do
  if [[ -d build/$built ]]; then
    mkdir -p "$source/build"
    cp -R "build/$built" "$source/build/"
  fi
done

version=$(sed -n 's/^project(agent_graph VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
version+=~deb$(. /etc/os-release; echo "$VERSION_ID")
changed=$(stat -c %Y CHANGELOG.md)
if [[ -e .git ]]; then changed=$(git log -1 --format=%ct); fi
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$changed}
sed -i "s/@email@/$DEBEMAIL/" "$source/debian/control"
cat >"$source/debian/changelog" <<TEXT
agent-graph ($version) unstable; urgency=medium

  * See CHANGELOG.md in the package agent-graph-common.

 -- $DEBFULLNAME <$DEBEMAIL>  $(date -R -u -d "@$SOURCE_DATE_EPOCH")
TEXT

# debhelper changes HOME, where ccache would look for its cache.
if command -v ccache >/dev/null; then
  CCACHE_DIR=$(ccache -k cache_dir)
  export CCACHE_DIR CCACHE_BASEDIR=$PWD/$source CCACHE_NOHASHDIR=1
fi
rm -f build/deb/*.deb build/deb/*.changes build/deb/*.buildinfo
(cd "$source" && DEB_BUILD_OPTIONS="parallel=$jobs" dpkg-buildpackage --build=binary --no-sign --no-pre-clean)
lintian --fail-on error,warning --info --tag-display-limit 0 --allow-root build/deb/*.changes
echo 'build-deb: lintian is content with'
ls -l build/deb/*.deb
