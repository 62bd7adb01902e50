#!/bin/bash
# test-deb.sh [SUITE]   Tries the packages of build/deb in a clean Debian: install, make agents as the
# quickstart says, serve, upgrade while a stream runs, remove, install again, purge. It needs root, and
# Debian's mirror for the packages that ours depend on. Run `make deb` before.
#
# The steps run in a chroot, in name spaces of their own: nothing of this machine is changed, its
# ports stay free, and when the script ends, so does all that it has started.
set -euo pipefail
cd "$(dirname "$0")/.."
suite=${1:-$(. /etc/os-release; echo "$VERSION_CODENAME")}
work=$PWD/build/deb
root=$work/chroot
source packaging/clean-debian.sh

# The packages of build/deb as the packages of the next version: with new files in them.
next_version() {
  mkdir -p "$root/packages/next"
  local deb scratch
  scratch=$(mktemp -d)
  for deb in "$root"/packages/now/*.deb; do
    dpkg-deb --raw-extract "$deb" "$scratch/package"
    sed -i 's/^Version: .*/&+next/' "$scratch/package/DEBIAN/control"
    dpkg-deb --root-owner-group -Znone --build "$scratch/package" "$root/packages/next/" >/dev/null
    rm -r "$scratch/package"
  done
  rmdir "$scratch"
}

prepare() {
  cmake/install-packages.sh deb-test
  make_root "$work/$suite.tar"
  mkdir -p "$root/packages/now"
  cp "$work"/{libnginx-mod-http-agent-graph,agent-graph-common,agent-graph-tools,libagent-graph-dev}_*.deb \
    "$root/packages/now/"
  next_version
  # The recommended packages that matter here are named.
  printf 'APT::Install-Recommends "false";\n' >>"$root/etc/apt/apt.conf.d/90test"
  # As in small images of Debian: nothing may need documents.
  printf 'path-exclude=/usr/share/doc/*\n' >"$root/etc/dpkg/dpkg.cfg.d/90test"
  # A chroot has no init system; invoke-rc.d then runs init scripts only if there is a policy.
  printf '#!/bin/sh\nexit 0\n' >"$root/usr/sbin/policy-rc.d"
  chmod +x "$root/usr/sbin/policy-rc.d"
  in_chroot apt-get -q update
  in_chroot sh -c 'apt-get -q install -y --download-only nginx poppler-utils g++ /packages/now/*.deb'
}

case "${STAGE:-}" in
  '') STAGE=prepare exec unshare --mount "$0" "$suite" ;;
  prepare)
    prepare
    # Without network: all that is needed has been downloaded.
    STAGE=steps exec unshare --mount --pid --net --ipc --uts --fork --kill-child "$0" "$suite" ;;
esac

state=/var/lib/nginx/agent-graph
module=/usr/lib/nginx/modules/ngx_http_agent_graph_module.so
link=/etc/nginx/modules-enabled/50-mod-http-agent-graph.conf

step() { echo "test-deb: $*"; }
# expect WHAT COMMAND...   Fails with WHAT if the command fails.
expect() {
  local what=$1
  shift
  if ! "$@"; then
    echo "test-deb: FAILED: $what ($*)" >&2
    exit 1
  fi
}
refuse() { ! "$@"; }
master() { cat "$root/run/nginx.pid"; }
maps_module() { grep -qF "$module" "/proc/$(master)/maps" && ! grep -qF "$module (deleted)" "/proc/$(master)/maps"; }
apt_install() { in_chroot sh -c "apt-get -q install -y --allow-downgrades $*"; }
installed() { [[ $(in_chroot dpkg-query -W -f='${db:Status-Abbrev}' "$1" 2>/dev/null) == "$2"* ]]; }

mount -t proc proc "$root/proc"
mount -t proc proc /proc
ip link set lo up

step install
apt_install 'nginx poppler-utils g++ /packages/now/*.deb'
expect 'nginx accepts the module' in_chroot nginx -t -q
expect 'the module is enabled' test -L "$root$link"
expect 'the state folder belongs to www-data' test "$(in_chroot stat -c '%U:%G %a' $state)" = 'www-data:www-data 700'
expect 'the programs start' in_chroot agent-graph-admin --version
expect 'agent-extract starts' in_chroot /usr/lib/nginx/modules/agent-extract --version
expect 'all packages are installed' installed libagent-graph-dev ii

step 'first hour'
/usr/bin/python3 packaging/first_hour.py "$root"

step serve
in_chroot cp -r /usr/share/agent-graph/conf /etc/nginx/agent
cat >"$root/etc/nginx/conf.d/agent.conf" <<'TEXT'
agent_graph_service support agent/service.json;
server {
    listen 127.0.0.1:8000;
    location / { agent_graph support; }
}
TEXT
expect 'nginx starts' in_chroot invoke-rc.d nginx start
# The provider whose stream waits at a gate runs outside of the chroot, in the same network.
/usr/bin/python3 packaging/stream_over_upgrade.py "$root/etc/nginx/agent/service.json" \
  chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
  sh -c 'apt-get -q install -y /packages/next/*.deb'
expect 'nginx has mapped the new module' maps_module
expect 'the conversations are there' in_chroot test -f $state/support/db/CURRENT
expect 'a backup of the running service' in_chroot /usr/lib/agent-graph/back-up-and-prune $state/support
expect 'the state is whole' in_chroot agent-graph-admin verify $state/support

step 'the new module refuses the configuration'
before=$(master)
echo 'agent_graph_unknown on;' >"$root/etc/nginx/conf.d/broken.conf"
apt_install '/packages/now/*.deb' 2>&1 | tee "$work/refused.log"
expect 'a line says so' grep -q 'keeps serving with the old module' "$work/refused.log"
expect 'nginx goes on' kill -0 "$before"
rm "$root/etc/nginx/conf.d/broken.conf"

step remove
in_chroot apt-get -q remove -y libnginx-mod-http-agent-graph
expect 'the module is gone' refuse test -e "$root$module"
expect 'the module is disabled' refuse test -e "$root$link"
expect 'the data is there' test -d "$root$state/support/db"
rm "$root/etc/nginx/conf.d/agent.conf"
expect 'nginx works without it' in_chroot nginx -t -q

step 'install again'
apt_install '/packages/next/libnginx-mod-http-agent-graph_*.deb'
expect 'the module is enabled again' test -L "$root$link"

step purge
in_chroot apt-get -q purge -y libnginx-mod-http-agent-graph 2>&1 | tee "$work/purge.log"
expect 'purge says that data is kept' grep -q 'data is kept' "$work/purge.log"
expect 'the data is there' test -d "$root$state/support/db"
expect 'no link is left' refuse test -e "$root$link"
expect 'no link is left aside' refuse test -L "$root$link.removed"
rm -r "$root$state"/{orders,support}
apt_install '/packages/next/libnginx-mod-http-agent-graph_*.deb'
in_chroot apt-get -q purge -y libnginx-mod-http-agent-graph agent-graph-common agent-graph-tools libagent-graph-dev
expect 'an empty state folder is removed' refuse test -e "$root$state"
expect 'nothing is left' refuse ls "$root/usr/share/agent-graph" "$root/usr/share/doc/agent-graph-common"
expect 'nginx works without it' in_chroot nginx -t -q
echo "test-deb: install, upgrade, remove and purge work on $suite"
