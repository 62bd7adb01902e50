#!/bin/bash
# build.sh packages             Installs the packages that the build needs.
# build.sh module DIRECTORY     Builds the module for the nginx of this image, and puts all that the
#                               image needs into DIRECTORY.
#
# The build stage of the Dockerfile runs this as root. An image without nginx gets Debian's. For any
# other nginx, its source is fetched from NGINX_DOWNLOADS, and configured as that nginx was.
set -euo pipefail
cd "$(dirname "$0")/.."
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1

# True if the image has an nginx that is not Debian's.
has_own_nginx() { [[ ! -d build/nginx-dev && ! -d /usr/share/nginx/src ]] && command -v nginx >/dev/null; }

packages() {
  export DEBIAN_FRONTEND=noninteractive
  apt-get -q update
  if has_own_nginx; then
    cmake/install-packages.sh compiler
  else
    cmake/install-packages.sh build
  fi
  if [[ -n ${BUILD_PACKAGES:-} ]]; then apt-get -q install -y --no-install-recommends $BUILD_PACKAGES; fi
}

# Sets `options` to the options that the image's nginx was configured with.
read_options() {
  local line
  line=$(nginx -V 2>&1 | sed -n 's/^configure arguments: //p')
  # The line is quoted for a shell.
  eval "options=($line)"
}

module() {
  local result=$1 modules=/usr/lib/nginx/modules programs=(agent-graph agent-graph-admin)
  if has_own_nginx; then
    local version options
    version=$(nginx -v 2>&1 | sed 's|.*nginx/\([0-9.]*\).*|\1|')
    read_options
    mkdir -p "build/nginx-$version"
    curl -fsSL "${NGINX_DOWNLOADS:-https://nginx.org/download}/nginx-$version.tar.gz" | tar -xz -C "build/nginx-$version" --strip-components=1
    cmake/build-with-nginx.sh "build/nginx-$version" dynamic "${options[@]}"
    install -D -t "$result$modules" \
      "build/nginx-nginx-$version-dynamic/objs/"{ngx_http_agent_graph_module.so,agent-extract}
    local objects="build/nginx-nginx-$version-dynamic/objs/agent_graph"
    ninja -C "$objects" "${programs[@]}"
    install -D -t "$result/usr/local/bin" "${programs[@]/#/$objects/}"
  else
    cmake -S . -B build/release -G Ninja -DCMAKE_BUILD_TYPE=Release -DAGENT_GRAPH_TESTS=OFF
    ninja -C build/release -j "${JOBS:-$(nproc)}" ngx_http_agent_graph_module agent_extract "${programs[@]}"
    install -D -t "$result$modules" build/release/{ngx_http_agent_graph_module.so,agent-extract}
    install -D -t "$result/usr/local/bin" "${programs[@]/#/build/release/}"
  fi
  strip --strip-unneeded "$result$modules"/* "$result/usr/local/bin"/*
  install -D -m 644 -t "$result/etc/agent-graph" docker/nginx.conf conf/service.json
  install -D -m 644 -t "$result/etc/agent-graph/graphs" conf/graphs/*.json
  install -D docker/serve-agent "$result/usr/local/bin/serve-agent"
  for built in docs ui; do
    if [[ -d build/$built ]]; then
      mkdir -p "$result/usr/share/agent-graph"
      cp -R "build/$built" "$result/usr/share/agent-graph/"
    fi
  done
}

"$@"
