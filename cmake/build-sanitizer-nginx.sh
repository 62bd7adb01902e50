#!/bin/sh
# build-sanitizer-nginx.sh address|thread   Builds Debian's nginx, from its source package, under a
# sanitizer: build/nginx-source/objs-<sanitizer>/nginx. Built once; `make clean` forgets it.
set -eu
cd "$(dirname "$0")/.."

sanitizer=$1
objects=objs-$sanitizer
mkdir -p build
cmake/fetch-debian-nginx.sh build/nginx-source
cd build/nginx-source

# patch FILE OLD NEW   Once: what was built from the file before is built again.
patch() {
  if grep -qF "$3" "$1"; then return 0; fi
  sed -i "s/$2/$3/" "$1"
  grep -qF "$3" "$1"
  rm -f "$objects/nginx"
}
# On TERM a master kills what has not left after a second. A worker looks for leaks when it leaves,
# which takes longer on a busy machine; the tests have a deadline of their own.
patch src/os/unix/ngx_process_cycle.c 'if (delay > 1000) {' 'if (delay > 60000) {'
# The debug log writes the arguments of every request, also of one that has none: no bytes from no
# address, which is all that this function may be given beside real texts.
patch src/core/ngx_string.c '^static u_char \*ngx_sprintf_str(' \
  '__attribute__((no_sanitize("nonnull-attribute"))) static u_char *ngx_sprintf_str('
if [ -x "$objects/nginx" ]; then exit 0; fi

case "$sanitizer" in
  # NGX_DEBUG_PALLOC gives every pool allocation a block of its own, so that overruns are seen.
  # nginx's HTTP/2 code reads unaligned words on purpose.
  address) flags="-fsanitize=address,undefined -fno-sanitize=alignment -DNGX_DEBUG_PALLOC=1" ;;
  thread) flags="-fsanitize=thread" ;;
  *) echo "build-sanitizer-nginx.sh: unknown sanitizer $sanitizer" >&2; exit 2 ;;
esac

# The flags that decide whether Debian's binary accepts a module, and what the tests use.
./configure --builddir="$objects" --prefix=/usr/share/nginx --error-log-path=stderr \
  --with-compat --with-debug --with-pcre-jit --with-threads --with-http_ssl_module \
  --with-http_v2_module --with-http_realip_module --with-http_stub_status_module \
  --with-http_auth_request_module --with-http_slice_module --with-http_dav_module \
  --with-cc-opt="-g -O1 -fno-omit-frame-pointer $flags" --with-ld-opt="$flags" >configure.log
make -s -j "${JOBS:-2}" -f "$objects/Makefile" binary
