#!/bin/bash
# test-image.sh [RESULT]   Builds the image with buildah in a chroot, which needs no container engine,
# and runs it as an engine would: as its user, with a read-only file system, one volume, and its own
# network. It needs root and Debian's mirror, and the packages buildah and mmdebstrap. The base image
# is made with mmdebstrap, so no registry of images is used.
#
# RESULT is a folder that `docker/build.sh module RESULT` has made on a Debian 12. Then the stage of the
# Dockerfile that compiles is left out, which takes minutes.
#
# NGINX_SOURCE=DIR, a source tree of nginx, takes the place of an official image: the base image has an
# nginx that was built from it in the same way, and the build gets the source from this machine.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$PWD/build/image
base=localhost/debian:bookworm-slim

# Images and containers of this test only, without overlay file systems.
buildah() { command buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs "$@"; }

make_base() {
  if [[ ! -f $work/base.tar ]]; then
    mmdebstrap --format=tar --variant=minbase bookworm "$work/base.tar.new" \
      "deb http://deb.debian.org/debian bookworm main" \
      "deb http://deb.debian.org/debian-security bookworm-security main" \
      "deb http://deb.debian.org/debian bookworm-updates main"
    mv "$work/base.tar.new" "$work/base.tar"
  fi
  local container
  container=$(buildah from scratch)
  buildah add -q "$container" "$work/base.tar" /
  buildah commit -q "$container" "$base"
  buildah rm "$container" >/dev/null
}

# A base image like nginx:*-bookworm, with the nginx of NGINX_SOURCE.
make_official_base() {
  local version container
  version=$(sed -n 's/^#define NGINX_VERSION *"\(.*\)"/\1/p' "$NGINX_SOURCE/src/core/nginx.h")
  mkdir -p "$work/downloads"
  tar -C "$NGINX_SOURCE" --transform "s|^\.|nginx-$version|" -czf "$work/downloads/nginx-$version.tar.gz" .
  container=$(buildah from "$base")
  buildah add -q "$container" "$work/downloads/nginx-$version.tar.gz" /tmp/
  buildah run --isolation chroot --network host "$container" -- bash -euc "
    export DEBIAN_FRONTEND=noninteractive
    apt-get -q update
    apt-get -q install -y --no-install-recommends ca-certificates curl gcc libc6-dev libpcre2-dev libssl-dev make zlib1g-dev
    cd /tmp/nginx-$version
    # A checkout of nginx's repository has it in another place than a release.
    configure=configure
    if [[ ! -f configure ]]; then configure=auto/configure; fi
    ./\$configure --prefix=/etc/nginx --sbin-path=/usr/sbin/nginx --modules-path=/usr/lib/nginx/modules \
      --conf-path=/etc/nginx/nginx.conf --error-log-path=/var/log/nginx/error.log \
      --http-log-path=/var/log/nginx/access.log --pid-path=/run/nginx.pid --lock-path=/run/nginx.lock \
      --with-compat --with-file-aio --with-threads --with-http_auth_request_module --with-http_realip_module \
      --with-http_ssl_module --with-http_v2_module --with-http_stub_status_module --with-stream \
      --with-cc-opt='-g -O2 -fstack-protector-strong -Wformat -Werror=format-security -Wp,-D_FORTIFY_SOURCE=2 -fPIC' \
      --with-ld-opt='-Wl,-z,relro -Wl,-z,now -Wl,--as-needed -pie' >/dev/null
    make -s -j 2
    make -s install
    rm -r /tmp/nginx-$version"
  base=localhost/nginx:$version-bookworm
  buildah commit -q "$container" "$base"
  buildah rm "$container" >/dev/null
  downloads_port=$(/usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  /usr/bin/python3 -m http.server --bind 127.0.0.1 --directory "$work/downloads" "$downloads_port" >/dev/null 2>&1 &
  downloads_server=$!
}

build() {
  if [[ -n $1 ]]; then
    rm -rf "$work/result"
    cp -R "$1" "$work/result"
    sed '/ AS build$/,/ module \/result$/d; s|--from=build /result|build/image/result|' docker/Dockerfile >"$work/Dockerfile"
    buildah build --isolation chroot --format docker --ignorefile /dev/null --build-arg "NGINX=$base" \
      --network host --tag agent-graph --file "$work/Dockerfile" .
    return
  fi
  local more=()
  if command -v ccache >/dev/null; then
    more=(--build-arg BUILD_PACKAGES=ccache --volume "$(ccache -k cache_dir):/root/.cache/ccache")
  fi
  if [[ -n ${NGINX_SOURCE:-} ]]; then
    more+=(--build-arg "NGINX_DOWNLOADS=http://127.0.0.1:$downloads_port")
  fi
  # Without --layers: this storage copies the whole image for each step that is kept, 13 GB in all.
  buildah build --isolation chroot --format docker --ignorefile docker/Dockerfile.dockerignore \
    --build-arg "NGINX=$base" "${more[@]}" --network host --tag agent-graph --file docker/Dockerfile .
}

expect() {
  local what=$1 found=$2 wanted=$3
  if [[ $found != "$wanted" ]]; then
    echo "test-image: FAILED: $what is '$found', not '$wanted'" >&2
    exit 1
  fi
}
property() { buildah inspect --type image --format "{{.Docker.Config.$1}}" agent-graph; }

if [[ ${STEPS:-} != yes ]]; then
  mkdir -p "$work"
  if ! buildah images -q "$base" >/dev/null 2>&1; then make_base; fi
  downloads_server=
  container=
  finish() {
    if [[ -n $downloads_server ]]; then kill "$downloads_server"; fi
    if [[ -n $container ]]; then buildah rm "$container" >/dev/null; fi
  }
  trap finish EXIT
  if [[ -n ${NGINX_SOURCE:-} ]]; then make_official_base; fi
  build "${1:-}"
  expect user "$(property User)" 10001:10001
  expect 'stop signal' "$(property StopSignal)" SIGQUIT
  expect volumes "$(property Volumes)" 'map[/var/lib/agent-graph:{}]'
  expect 'health check' "$(property Healthcheck.Test | grep -o ':8000/[a-z]*')" :8000/ping
  container=$(buildah from agent-graph)
  STEPS=yes ROOT=$(buildah mount "$container") unshare --mount --pid --net --ipc --fork --kill-child "$0"
  exit
fi

# The container: a read-only root, /tmp and the volume.
mount --make-rprivate /
root=$work/root
mkdir -p "$root"
mount --bind "$ROOT" "$root"
mount -o remount,bind,ro "$root"
mount -t proc proc "$root/proc"
mount -t proc proc /proc
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs -o mode=0755 tmpfs "$root/dev"
for device in null zero random urandom; do
  touch "$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
ln -s /proc/self/fd "$root/dev/fd"
ln -s /proc/self/fd/1 "$root/dev/stdout"
mkdir "$root/dev/shm"
mount -t tmpfs tmpfs "$root/dev/shm"
mount -t tmpfs -o mode=0700,uid=10001,gid=10001 tmpfs "$root/var/lib/agent-graph"
ip link set lo up

# chroot(2) is for root only, so rights are dropped after it.
inside() {
  chroot "$root" setpriv --reuid 10001 --regid 10001 --clear-groups --no-new-privs --bounding-set=-all \
    --inh-caps=-all env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/bin "$@"
}

# Standard output is a pipe that belongs to the user, as in container engines.
inside sh -c 'serve-agent -t 2>&1 | cat' | grep -q 'test is successful'
inside sh -c '(serve-agent 2>&1; echo "exit status $?" >/tmp/status) | cat' >"$work/log" &
server=$!
eval "check=($(buildah inspect --type image --format '{{range .Docker.Config.Healthcheck.Test}}{{printf "%q " .}}{{end}}' agent-graph))"
# Ready as soon as the state server answers, which is a moment after nginx has begun to listen.
until inside "${check[@]:1}" 2>/dev/null; do
  kill -0 "$server" || { cat "$work/log"; exit 1; }
  sleep 0.2
done
answer=$(inside curl -fs http://127.0.0.1:8000/v1/graph/invoke -H 'Content-Type: application/json' \
  -d '{"messages":[{"role":"user","content":"hello"}]}')
expect 'the answer' "$(grep -o '^{"success":true' <<<"$answer")" '{"success":true'
expect 'the answer to agent-graph chat' "$(inside agent-graph chat <<<'How are you')" 'You said: How are you'
inside agent-graph check /etc/agent-graph | grep -q 'are fine'
inside agent-graph-admin --version >/dev/null
inside curl -fs http://127.0.0.1:9100/metrics | grep -q '^agent_graph_requests_total'
expect 'the user of the state' "$(stat -c %u "$root/var/lib/agent-graph/state")" 10001
# The stop signal comes while a stream runs, which goes on to its end. The file may be that of an earlier
# test.
rm -f "$work/stream"
inside curl -fsN http://127.0.0.1:8000/v1/graph/stream -H 'Content-Type: application/json' \
  -d '{"messages":[{"role":"user","content":"Tell me a story."}]}' >"$work/stream" &
stream=$!
until [[ -s $work/stream ]]; do
  kill -0 "$stream"
  sleep 0.1
done
if grep -q '"event":"updates"' "$work/stream"; then
  echo 'test-image: FAILED: the stream has ended before the stop signal' >&2
  exit 1
fi
kill -QUIT "$(cat "$root/tmp/nginx/nginx.pid")"
wait "$stream"
expect 'the end of the stream' "$(tail -n 1 "$work/stream" | grep -o '"status":"done"')" '"status":"done"'
wait "$server"
expect 'the end after SIGQUIT' "$(cat "$root/tmp/status")" 'exit status 0'
grep -q '"POST /v1/graph/invoke" 200' "$work/log"
grep -q '"POST /v1/graph/stream" 200' "$work/log"
echo 'test-image: the image serves as its user on a read-only file system, and SIGQUIT cuts no stream'
