#!/bin/bash
# build-matrix.sh [NGINX...]   Builds the module for several versions of nginx, and serves one request
# with each. Each NGINX is one of:
#
#   DIR            a source tree
#   debian:SUITE   the source package of a Debian suite, for example debian:trixie
#   VERSION        a release of nginx.org, for example 1.28.0
#
# Without arguments: debian:bookworm and debian:trixie. The code that does not depend on nginx is
# compiled once (target agent_graph_parts); for each nginx only ngx_module/ is compiled and linked. The
# results are in build/matrix/nginx-VERSION/: the module, agent-extract, and the nginx that served.
#
# A module fits another binary of the same nginx version if both have the same configure options, as
# far as these change nginx's structures. OPTIONS below fits the packages of Debian and nginx.org;
# NGINX_CONFIGURE="--with-…" replaces them.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1

OPTIONS=(--with-compat --with-debug --with-pcre-jit --with-threads --with-http_ssl_module
         --with-http_v2_module --with-http_realip_module --with-http_stub_status_module
         --with-http_auth_request_module --with-http_slice_module --with-http_dav_module)
if [[ -n ${NGINX_CONFIGURE:-} ]]; then read -ra OPTIONS <<<"$NGINX_CONFIGURE"; fi

# Prints the path of the source tree that the argument names.
source_of() {
  case "$1" in
    debian:*)
      local directory=build/nginx-debian-${1#debian:}
      cmake/fetch-debian-nginx.sh "$directory" "${1#debian:}" >&2
      echo "$directory" ;;
    [0-9]*.[0-9]*.[0-9]*)
      local directory=build/nginx-org-$1
      if [[ ! -f $directory/src/core/nginx.c ]]; then
        mkdir -p "$directory"
        curl -fsSL "https://nginx.org/download/nginx-$1.tar.gz" | tar -xz -C "$directory" --strip-components=1
      fi
      echo "$directory" ;;
    *) echo "$1" ;;
  esac
}

# Serves the sample agent with the nginx and the module in folder $1, on a socket in it, and asks it.
try() {
  local folder=$1 run=$1/run
  rm -rf "$run"
  mkdir -p "$run"/{conf,logs,temp}
  sed "s|listen 127.0.0.1:8000|listen unix:$run/socket|; s|^load_module .*|load_module $folder/ngx_http_agent_graph_module.so;|; /agent_graph_\(docs\|ui\) /d" \
    conf/nginx.conf >"$run/conf/nginx.conf"
  cp -R conf/service.json conf/graphs "$run/conf/"
  local globals='daemon off;'
  if [[ $(id -u) == 0 ]]; then globals+=' user root;'; fi
  local nginx=("$folder/nginx" -p "$run/" -c conf/nginx.conf -e stderr -g "$globals")
  "${nginx[@]}" -t -q
  "${nginx[@]}" 2>"$run/error.log" &
  local server=$! answer=
  until answer=$(curl -fs --unix-socket "$run/socket" http://agent/v1/graph/invoke -H 'Content-Type: application/json' \
                   -d '{"messages":[{"role":"user","content":"hello"}]}'); do
    if ! kill -0 "$server" 2>/dev/null; then
      cat "$run/error.log" >&2
      return 1
    fi
    sleep 0.2
  done
  kill -QUIT "$server"
  wait "$server"
  grep -q '"success":true' <<<"$answer"
  ! grep -E '\[(alert|emerg)\]' "$run/error.log" >&2
}

if [[ $# == 0 ]]; then set -- debian:bookworm debian:trixie; fi
cmake -S . -B build/release -G Ninja -DCMAKE_BUILD_TYPE=Release >/dev/null
ninja -C build/release -j "$jobs" agent_graph_parts
export AGENT_GRAPH_CMAKE_FLAGS="-DAGENT_GRAPH_PARTS=$PWD/build/release/agent_graph_parts.o"

report=
for nginx in "$@"; do
  begun=$SECONDS
  tree=$(source_of "$nginx")
  version=$(sed -n 's/^#define NGINX_VERSION *"\(.*\)"/\1/p' "$tree/src/core/nginx.h")
  JOBS=$jobs cmake/build-with-nginx.sh "$tree" dynamic "${OPTIONS[@]}" >"build/nginx-$version.log" 2>&1 ||
    { tail -n 30 "build/nginx-$version.log" >&2; exit 1; }
  built=build/nginx-$(basename "$tree")-dynamic
  linked=$((SECONDS - begun))
  make -s -C "$built/source" -j "$jobs" -f "$PWD/$built/objs/Makefile" binary >>"build/nginx-$version.log" 2>&1
  result=$PWD/build/matrix/nginx-$version
  rm -rf "$result"
  mkdir -p "$result"
  cp "$built/objs/"{ngx_http_agent_graph_module.so,agent-extract,nginx} "$result/"
  try "$result"
  report+="  nginx $version ($nginx): module in $linked s, served in all $((SECONDS - begun)) s"$'\n'
  echo "build-matrix: nginx $version serves"
done
printf 'build-matrix: all serve, modules are in build/matrix:\n%s' "$report"
