#!/bin/sh
# configure-nginx.sh SOURCE_DIR WORK_DIR
#
# Creates WORK_DIR/objs with the configured headers (ngx_auto_config.h) for compiling a module for
# Debian's nginx. SOURCE_DIR belongs to the nginx-dev package: headers, auto/, configure and
# conf_flags, which holds the options of the packaged binary. It is copied first, because configure
# writes into its own folder.
set -eu

source_dir=$1
work_dir=$2

if [ ! -f "$source_dir/conf_flags" ]; then
    echo "configure-nginx.sh: $source_dir is not an nginx-dev tree (no conf_flags);" \
         "configure it yourself and set NGINX_OBJECT_DIR" >&2
    exit 1
fi

rm -rf "$work_dir"
mkdir -p "$work_dir"
cp -R "$source_dir/." "$work_dir/"
cd "$work_dir"

# conf_flags is a bash array; the paths are those of the packaged binary.
exec bash -c '. ./conf_flags && exec ./configure "${NGX_CONF_FLAGS[@]}" --builddir=objs'
