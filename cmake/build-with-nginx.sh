#!/bin/bash
# build-with-nginx.sh DIR static|dynamic [CONFIGURE OPTION...]
# Builds the module with the nginx source tree in DIR. DIR is not changed: a copy is built in
# build/nginx-<name of DIR>/. Without options, it uses those that make the module compatible with
# common binaries.
set -euo pipefail
cd "$(dirname "$0")/.."

source_directory=$(cd "$1" && pwd)
kind=$2
shift 2
case "$kind" in
  static) add=--add-module target=binary result=nginx ;;
  dynamic) add=--add-dynamic-module target=modules result=ngx_http_agent_graph_module.so ;;
  *) echo "build-with-nginx.sh: $kind is neither static nor dynamic" >&2; exit 2 ;;
esac

name=$(basename "$source_directory" | tr -c 'A-Za-z0-9._\n' -)
build=$PWD/build/nginx-$name-$kind
root=$PWD
if [[ $root == *[[:space:]]* ]]; then
  # nginx's makefiles do not quote paths, so the build uses a symbolic link without spaces.
  link=$(mktemp -d)
  trap 'rm -f "$link/root"; rmdir "$link"' EXIT
  ln -s "$root" "$link/root"
  root=$link/root
  build=$root/build/nginx-$name-$kind
fi

mkdir -p "$build"
rm -rf "$build/source"
mkdir "$build/source"
tar -C "$source_directory" --exclude=.git --exclude=objs -cf - . | tar -C "$build/source" -xf -
cd "$build/source"

options=("$@")
if [[ ${#options[@]} == 0 ]]; then
  options=(--with-compat --with-threads --with-http_ssl_module --with-http_v2_module
           --with-http_realip_module)
  # Debian's nginx-dev contains the options with which its binary was built.
  if [[ -f conf_flags ]]; then
    source ./conf_flags
    options=("${NGX_CONF_FLAGS[@]}")
  fi
fi
configure=./configure
if [[ ! -x $configure ]]; then configure=auto/configure; fi

"$configure" "${options[@]}" --builddir="$build/objs" "$add=$root"
make -j "${JOBS:-2}" -f "$build/objs/Makefile" "$target"
ls -l "$build/objs/$result" "$build/objs/agent-extract"
