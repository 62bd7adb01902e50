#!/bin/sh
# check-nginx.sh [DIR]   Builds the module for a newer nginx than Debian's and serves with it: the
# source tree in DIR, or one that is fetched. `nginx -t` is part of the tests.
set -eu
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}

source=${1:-build/newer-nginx-source}
if [ $# = 0 ] && ! cmake/fetch-newer-nginx.sh "$source"; then
  echo 'check-nginx: SKIPPED, because no newer nginx can be fetched here; give one with NGINX_SRC=DIR'
  exit 0
fi
tree=$PWD/build/newer-nginx-tree
rm -rf "$tree"
cp -R "$source" "$tree"
configure=./configure
if [ ! -x "$tree/configure" ]; then configure=auto/configure; fi
(
  cd "$tree"
  "$configure" --builddir=objs --prefix=/usr/share/nginx --error-log-path=stderr --with-compat \
    --with-debug --with-pcre-jit --with-threads --with-http_ssl_module --with-http_v2_module \
    --with-http_realip_module --with-http_stub_status_module --with-http_auth_request_module \
    --with-http_slice_module --with-http_dav_module >configure.log
  make -s -j "$jobs" -f objs/Makefile binary
)
"$tree/objs/nginx" -v

# The same depth below the root as build/release: ccache then finds all that does not know nginx.
build=build/newer
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DNGINX_SOURCE_DIR="$tree" -DNGINX_OBJECT_DIR="$tree/objs" >/dev/null
cmake/install-mock-provider.sh
ninja -C "$build" -j "$jobs" all test_graphs
AGENT_GRAPH_BUILD=$build NGINX_BINARY=$tree/objs/nginx \
  /usr/bin/python3 -m pytest -c t/pytest.ini t/http/test_directives.py t/http/test_invoke.py \
  t/http/test_stream.py t/http/test_websocket.py t/http/test_websocket_frames.py t/http/test_lifecycle.py \
  t/http/test_worn_out_workers.py t/http/test_zone_size.py \
  t/http/test_nginx_user_settings.py
