#!/bin/sh
# install-packages.sh [--optional] GROUP...   Installs the missing Debian packages of the named
# groups. Groups: build, compiler (build without nginx), source (packages of sources), runtime, docs,
# test, scale, lint, fuzz, bench, sanitizer, check, cache, charts, deb, deb-test. Needs root or sudo only
# if something is missing. With --optional it succeeds if packages cannot be installed, and does not ask
# for a password.
set -eu

# The package of promtool also starts a server that listens on every address, except where packages
# may not start services, as in containers.
promtool_without_server() {
  answer=0
  /usr/sbin/policy-rc.d prometheus start >/dev/null 2>&1 || answer=$?
  if [ $answer = 101 ]; then echo prometheus; fi
}

# Names that differ between Debian 12 and 13.
boost=1.81
libraries='libcurl4 libhiredis0.14 libssl3 libzip4'
if grep -qs '^VERSION_ID="13"' /etc/os-release; then
  boost=1.83
  libraries='libcurl4t64 libhiredis1.1.0 libssl3t64 libzip5'
fi

packages_of() {
  case "$1" in
    build) echo nginx nginx-headers $(packages_of compiler) ;;
    compiler) echo g++ make cmake ninja-build curl ca-certificates \
                libboost$boost-dev libboost-context$boost-dev libboost-json$boost-dev \
                libcurl4-openssl-dev libnghttp2-dev libssl-dev libhiredis-dev libpcre2-dev zlib1g-dev \
                libleveldb-dev libsnappy-dev libhnswlib-dev nlohmann-json3-dev libgtest-dev libgmock-dev \
                libwslay-dev libxml2-dev libzip-dev libpq-dev poppler-utils ;;
    # Needed to run the module, the programs and nginx; docs/install.md lists them.
    runtime) echo ca-certificates curl libboost-context$boost.0 libboost-json$boost.0 $libraries \
                  libleveldb1d libnghttp2-14 libpcre2-8-0 libpq5 libsnappy1v5 libxml2 poppler-utils zlib1g ;;
    docs) echo npm openssl ;;
    test) echo python3 python3-pip python3-pytest python3-pytest-timeout python3-pytest-xdist python3-h2 npm openssl redis-server \
               python3-websockets python3-jsonschema libbenchmark-dev json-schema-test-suite chromium espeak-ng sox strace pkg-config \
               postgresql haproxy \
               $(promtool_without_server) ;;
    scale) echo etcd-server faketime iproute2 iptables patroni pgbouncer ;;
    lint) echo clang-19 clang-format-19 clang-tidy-19 ;;
    fuzz) echo libclang-rt-19-dev ;;
    bench) echo wrk nghttp2-client python3 python3-websockets libbenchmark-dev postgresql haproxy ;;
    source) echo dpkg-dev ;;
    sanitizer) echo libasan8 libubsan1 libtsan2 ;;
    check) echo git ;;
    cache) echo ccache ;;
    charts) echo golang-go npm python3-pip python3-jsonschema python3-yaml ;;
    deb) echo build-essential debhelper dpkg-dev fakeroot lintian nginx-dev ;;
    deb-test) echo mmdebstrap python3 ;;
    *) echo "install-packages.sh: unknown group $1" >&2; exit 2 ;;
  esac
}

# Stands for the package nginx-dev, of which a build needs the headers only: 94 packages less. It is
# unpacked here, where cmake/NginxModule.cmake finds it, unless it is installed.
headers=$(dirname "$0")/../build/nginx-dev

fetch_headers() {
  version=$(dpkg-query -W -f='${Version}' nginx)
  rm -rf "$headers"
  mkdir -p "$headers"
  (
    cd "$headers" &&
      apt-get -q -o APT::Sandbox::User="$(id -un)" download "nginx-dev=$version" &&
      dpkg-deb --extract nginx-dev_*.deb . &&
      rm nginx-dev_*.deb &&
      echo "$version" >version
  )
}

is_installed() {
  if [ "$1" = nginx-headers ]; then
    if is_installed nginx-dev; then return 0; fi
    [ "$(dpkg-query -W -f='${Version}' nginx 2>/dev/null)" = "$(cat "$headers/version" 2>/dev/null)" ] &&
      [ -f "$headers/version" ]
    return
  fi
  # Any npm is sufficient: it only fetches what t/package-lock.json pins. Debian's npm conflicts
  # with other installations.
  if [ "$1" = npm ] && command -v npm >/dev/null 2>&1; then return 0; fi
  # Any Go and any pip will do, too.
  if [ "$1" = golang-go ] && command -v go >/dev/null 2>&1; then return 0; fi
  if [ "$1" = python3-pip ] && python3 -m pip --version >/dev/null 2>&1; then return 0; fi
  dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q '^install ok installed$'
}

optional=
if [ "${1:-}" = --optional ]; then
  optional=yes
  shift
fi

missing=
for group in "$@"; do
  wanted=$(packages_of "$group")
  for package in $wanted; do
    if ! is_installed "$package"; then missing="$missing $package"; fi
  done
done
if [ -z "$missing" ]; then exit 0; fi
packages=
for package in $missing; do
  if [ "$package" != nginx-headers ]; then packages="$packages $package"; fi
done

give_up() {
  echo "$1:$missing" >&2
  if [ -n "$optional" ]; then exit 0; fi
  exit 1
}

as_root=
if [ "$(id -u)" != 0 ] && [ -n "$packages" ]; then
  command -v sudo >/dev/null 2>&1 ||
    give_up 'These Debian packages are missing and need root to install'
  as_root=sudo
  # Optional packages must not cause a password prompt.
  if [ -n "$optional" ]; then
    as_root='sudo -n'
    $as_root true 2>/dev/null || give_up 'These optional Debian packages are missing'
  fi
fi

apt() {
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 \
    ${optional:+-o Acquire::Retries=0 -o Acquire::http::Timeout=10} "$@" </dev/null
}

# Debian starts servers when it installs them, and makes a database for PostgreSQL first. The tests need
# the programs only, so both are forbidden until the packages are installed.
policy=/usr/sbin/policy-rc.d
clusters=/etc/postgresql-common/createcluster.d
ours=

allow_servers() {
  for file in $ours; do $as_root rm -f "$file"; done
  ours=
}

# write_ours FILE MODE TEXT   Writes a file that allow_servers removes.
write_ours() {
  ours="$ours $1"
  printf '%s\n' "$3" | $as_root tee "$1" >/dev/null
  $as_root chmod "$2" "$1"
}

forbid_servers() {
  trap allow_servers EXIT
  trap 'exit 1' HUP INT TERM
  if [ ! -e "$policy" ]; then
    write_ours "$policy" 755 "#!/bin/sh
# Written by install-packages.sh for the time of an installation.
exit 101"
  fi
  $as_root mkdir -p "$clusters"
  write_ours "$clusters/agent-graph.conf" 644 'create_main_cluster = false'
}

for package in $missing; do
  case "$package" in
    postgresql | haproxy | redis-server) forbid_servers; break ;;
  esac
done

echo "Installing Debian packages:$missing"
# A new machine has no package lists, and those of an old one may be outdated; otherwise no update
# is needed.
if ! ls /var/lib/apt/lists/*_Packages* >/dev/null 2>&1; then
  apt update || give_up 'No package lists, so these packages cannot be installed'
fi
install() { apt install -y --no-install-recommends "$@"; }
if [ -n "$packages" ] && ! install $packages; then
  apt update && install $packages || give_up 'These Debian packages cannot be installed'
fi
case " $missing " in
  # fetch_headers fails if the mirror no longer has the headers of the installed nginx. Then upgrade
  # nginx together with nginx-dev.
  *' nginx-headers '*) fetch_headers || install nginx nginx-dev || give_up 'nginx-dev cannot be installed' ;;
esac
