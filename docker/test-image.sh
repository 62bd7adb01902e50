#!/bin/bash
# test-image.sh [RESULT]   Builds the image with buildah in a chroot, which needs no container engine,
# and runs it as an engine would: as its user, with a read-only file system, one volume, and its own
# network. It needs root and Debian's mirror, and the packages buildah and mmdebstrap. The base image
# is made with mmdebstrap, so no registry of images is used.
#
# RESULT is a folder that `docker/build.sh module RESULT` has made on a Debian 12. Then the stage of the
# Dockerfile that compiles is left out, which takes minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$PWD/build/image
base=localhost/debian:bookworm-slim

# Images and containers of this test only, without overlay file systems.
buildah() { command buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs "$@"; }

make_base() {
  if [[ ! -f $work/base.tar ]]; then
    mmdebstrap --variant=minbase bookworm "$work/base.tar.new" \
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

build() {
  if [[ -n $1 ]]; then
    rm -rf "$work/result"
    cp -R "$1" "$work/result"
    sed '/ AS build$/,/ module \/result$/d; s|--from=build /result|build/image/result|' docker/Dockerfile >"$work/Dockerfile"
    buildah build --isolation chroot --format docker --ignorefile /dev/null --build-arg "NGINX=$base" \
      --network host --tag agent-graph --file "$work/Dockerfile" .
    return
  fi
  local cache=()
  if command -v ccache >/dev/null; then
    cache=(--build-arg BUILD_PACKAGES=ccache --volume "$(ccache -k cache_dir):/root/.cache/ccache")
  fi
  buildah build --isolation chroot --format docker --layers --ignorefile docker/Dockerfile.dockerignore \
    --build-arg "NGINX=$base" "${cache[@]}" --network host --tag agent-graph --file docker/Dockerfile .
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
  build "${1:-}"
  expect user "$(property User)" 10001:10001
  expect 'stop signal' "$(property StopSignal)" SIGQUIT
  expect volumes "$(property Volumes)" 'map[/var/lib/agent-graph:{}]'
  expect 'health check' "$(property Healthcheck.Test | grep -o 'curl')" curl
  container=$(buildah from agent-graph)
  trap 'buildah rm "$container" >/dev/null' EXIT
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
until inside curl -fs -o /dev/null http://127.0.0.1:8000/ping; do
  kill -0 "$server" || { cat "$work/log"; exit 1; }
  sleep 0.2
done
eval "check=($(buildah inspect --type image --format '{{range .Docker.Config.Healthcheck.Test}}{{printf "%q " .}}{{end}}' agent-graph))"
inside "${check[@]:1}"
answer=$(inside curl -fs http://127.0.0.1:8000/v1/graph/invoke -H 'Content-Type: application/json' \
  -d '{"messages":[{"role":"user","content":"hello"}]}')
expect 'the answer' "$(grep -o '^{"success":true' <<<"$answer")" '{"success":true'
expect 'the answer to agent-graph chat' "$(inside agent-graph chat <<<'How are you')" 'You said: How are you'
inside agent-graph check /etc/agent-graph | grep -q 'are fine'
inside agent-graph-admin --version >/dev/null
inside curl -fs http://127.0.0.1:9100/metrics | grep -q '^agent_graph_requests_total'
expect 'the user of the state' "$(stat -c %u "$root/var/lib/agent-graph/state")" 10001
kill -QUIT "$(cat "$root/tmp/nginx/nginx.pid")"
wait "$server"
expect 'the end after SIGQUIT' "$(cat "$root/tmp/status")" 'exit status 0'
grep -q '"POST /v1/graph/invoke" 200' "$work/log"
echo 'test-image: the image serves as its user on a read-only file system, and ends with SIGQUIT'
