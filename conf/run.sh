#!/bin/sh
# run.sh   Serves the sample agent in the foreground on 127.0.0.1:$PORT (default 8000), with Debian's
# nginx and everything it writes below build/run/. `make run` builds first, then calls this.
set -eu
cd "$(dirname "$0")/.."

port=${PORT:-8000}
prefix=$PWD/build/run
url=http://127.0.0.1:$port
for folder in conf/graphs modules logs temp; do mkdir -p "$prefix/$folder"; done

# The shipped configuration as it is, but for the port; its relative paths start at the prefix.
sed "s/127\.0\.0\.1:8000/127.0.0.1:$port/" conf/nginx.conf >"$prefix/conf/nginx.conf"
cp conf/service.json "$prefix/conf/service.json"
ln -sfn ../../release/ngx_http_agent_graph_module.so "$prefix/modules/ngx_http_agent_graph_module.so"
cp conf/graphs/*.json "$prefix/conf/graphs/"
ln -sfn ../docs "$prefix/docs"
for graph in build/release/graphs/*.so; do ln -sf "$PWD/$graph" "$prefix/conf/graphs/"; done

globals='daemon off;'
if [ "$(id -u)" = 0 ]; then globals="$globals user root;"; fi

# Tells what to try as soon as nginx answers; gives up when nginx has ended. No child of nginx's.
server=$$
tell_what_to_try() {
  until curl -fs -o /dev/null "$url/ping"; do
    kill -0 "$server" 2>/dev/null || return 0
    sleep 0.2
  done
  cat <<TEXT

The agent answers on $url (Ctrl-C ends it). Try:

  curl -s $url/v1/graph/invoke -H 'Content-Type: application/json' -d '{"messages":[{"role":"user","content":"Hello"}],"config":{"thread_id":"first"}}'
  curl -sN $url/v1/graph/stream -H 'Content-Type: application/json' -d '{"messages":[{"role":"user","content":"What did I say?"}],"config":{"thread_id":"first"}}'
  curl -s $url/v1/threads/first/messages

TEXT
}
(tell_what_to_try &)

exec /usr/sbin/nginx -p "$prefix/" -c conf/nginx.conf -e stderr -g "$globals"
