#!/bin/sh
# run.sh   Serves the sample agent in the foreground on 127.0.0.1:$PORT (default 8000) with Debian's
# nginx. All files are written below build/run/. `make run` builds first, then calls this script.
set -eu
cd "$(dirname "$0")/.."

port=${PORT:-8000}
prefix=$PWD/build/run
url=http://127.0.0.1:$port
for folder in conf/graphs modules logs temp; do mkdir -p "$prefix/$folder"; done

# The shipped configuration with the port replaced; its relative paths start at the prefix.
sed "s/127\.0\.0\.1:8000/127.0.0.1:$port/" conf/nginx.conf >"$prefix/conf/nginx.conf"
cp conf/service.json "$prefix/conf/service.json"
ln -sfn ../../release/ngx_http_agent_graph_module.so "$prefix/modules/ngx_http_agent_graph_module.so"
cp conf/graphs/*.json "$prefix/conf/graphs/"
ln -sfn ../docs "$prefix/docs"
for graph in build/release/graphs/*.so; do ln -sf "$PWD/$graph" "$prefix/conf/graphs/"; done

globals='daemon off;'
if [ "$(id -u)" = 0 ]; then globals="$globals user root;"; fi

# Prints an example as soon as our nginx answers. Another program may hold the port and answer, too;
# nginx writes its pid file only after it has bound the port. This runs beside nginx, not as its
# child.
server=$$
say_what_to_try() {
  until [ "$(cat "$prefix/logs/nginx.pid" 2>/dev/null || true)" = "$server" ] &&
    curl -fs --noproxy '*' -o /dev/null "$url/ping"; do
    if ! kill -0 "$server" 2>/dev/null; then
      echo "nginx has ended before it served $url; if its port is taken: PORT=9000 make run" >&2
      return 0
    fi
    sleep 0.2
  done
  cat <<TEXT

The agent answers on $url (Ctrl-C ends it). Try:

  curl -s $url/v1/graph/invoke -H 'Content-Type: application/json' -d '{"messages":[{"role":"user","content":"Hello"}],"config":{"thread_id":"first"}}'
  curl -sN $url/v1/graph/stream -H 'Content-Type: application/json' -d '{"messages":[{"role":"user","content":"What did I say?"}],"config":{"thread_id":"first"}}'
  curl -s $url/v1/threads/first/messages

TEXT
}
(say_what_to_try &)

exec /usr/sbin/nginx -p "$prefix/" -c conf/nginx.conf -e stderr -g "$globals"
