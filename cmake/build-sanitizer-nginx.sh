#!/bin/sh
# build-sanitizer-nginx.sh address|thread   Builds Debian's nginx from its source package with a
# sanitizer: build/nginx-source/objs-<sanitizer>/nginx. It is built once; `make clean` removes it.
set -eu
cd "$(dirname "$0")/.."

sanitizer=$1
objects=objs-$sanitizer
mkdir -p build
cmake/fetch-debian-nginx.sh build/nginx-source
cd build/nginx-source

# patch FILE OLD NEW   Replaces OLD once. A binary that was built before the change is removed.
patch() {
  if grep -qF "$3" "$1"; then return 0; fi
  sed -i "s/$2/$3/" "$1"
  grep -qF "$3" "$1"
  rm -f "$objects/nginx"
}
# After TERM, the master kills workers that have not exited within a second. A worker checks for
# leaks when it exits, which takes longer on a busy machine; the tests have their own deadline.
patch src/os/unix/ngx_process_cycle.c 'if (delay > 1000) {' 'if (delay > 60000) {'
# The debug log prints the arguments of every request. For a request without arguments it passes a
# null pointer with length 0, which the sanitizer would report.
patch src/core/ngx_string.c '^static u_char \*ngx_sprintf_str(' \
  '__attribute__((no_sanitize("nonnull-attribute"))) static u_char *ngx_sprintf_str('
if [ -x "$objects/nginx" ]; then exit 0; fi

case "$sanitizer" in
  # NGX_DEBUG_PALLOC allocates every pool allocation separately, so that overruns are detected.
  # nginx's HTTP/2 code reads unaligned words on purpose.
  address) flags="-fsanitize=address,undefined -fno-sanitize=alignment -DNGX_DEBUG_PALLOC=1" ;;
  thread) flags="-fsanitize=thread" ;;
  *) echo "build-sanitizer-nginx.sh: unknown sanitizer $sanitizer" >&2; exit 2 ;;
esac

# The options that decide whether Debian's binary accepts a module, and modules that the tests use.
./configure --builddir="$objects" --prefix=/usr/share/nginx --error-log-path=stderr \
  --with-compat --with-debug --with-pcre-jit --with-threads --with-http_ssl_module \
  --with-http_v2_module --with-http_realip_module --with-http_stub_status_module \
  --with-http_auth_request_module --with-http_slice_module --with-http_dav_module \
  --with-cc-opt="-g -O1 -fno-omit-frame-pointer $flags" --with-ld-opt="$flags" >configure.log
make -s -j "${JOBS:-2}" -f "$objects/Makefile" binary
