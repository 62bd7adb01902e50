#!/bin/sh
# run.sh   Serves the sample agent in the foreground on 127.0.0.1:$PORT (default 8000) with Debian's
# nginx. All files are written below build/run/. `make run` builds first, then calls this script.
#
# The model is the one that the environment names, as long as conf/service.json has the model `demo`:
#   MODEL_BASE_URL      a server with OpenAI's API (Ollama, vLLM, llama.cpp, …); MODEL_API_KEY is its
#                       key, if it needs one
#   OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY    the first of them that is set
#   MODEL_NAME          which model; otherwise a default, or the first one that the server lists
#   MODEL_PROVIDER      demo, openai, anthropic or gemini, whichever variables are set
set -eu
cd "$(dirname "$0")/.."

if [ $# -gt 0 ]; then
  # The comment above is the manual.
  manual() { sed -n '2,/^set /{s/^# \{0,1\}//;/^set /d;p;}' conf/run.sh; }
  if [ "$1" = --help ] || [ "$1" = -h ]; then manual; exit 0; fi
  manual >&2
  exit 2
fi

port=${PORT:-8000}
prefix=$PWD/build/run
url=http://127.0.0.1:$port
for folder in conf/graphs modules logs temp; do mkdir -p "$prefix/$folder"; done

fail() {
  echo "run.sh: $1" >&2
  exit 1
}

# The first model that the server at MODEL_BASE_URL lists.
first_model() {
  curl -fs --max-time 10 ${MODEL_API_KEY:+-H "Authorization: Bearer $MODEL_API_KEY"} "$MODEL_BASE_URL/models" |
    tr '{,' '\n\n' | sed -n 's/^ *"id" *: *"\([^"]*\)".*/\1/p' | head -n 1
}

# Sets `provider` and MODEL_NAME.
choose_model() {
  provider=${MODEL_PROVIDER:-}
  if [ -z "$provider" ]; then
    if [ -n "${MODEL_BASE_URL:-}" ]; then provider=openai
    elif [ -n "${OPENAI_API_KEY:-}" ]; then provider=openai
    elif [ -n "${ANTHROPIC_API_KEY:-}" ]; then provider=anthropic
    elif [ -n "${GEMINI_API_KEY:-}" ]; then provider=gemini
    else provider=demo
    fi
  fi
  case $provider in
    demo)
      if [ -n "${MODEL_NAME:-}" ] && [ -z "${MODEL_PROVIDER:-}" ]; then
        fail "MODEL_NAME=$MODEL_NAME also needs MODEL_BASE_URL, or the key of its provider, such as OPENAI_API_KEY"
      fi
      return ;;
    openai) name=gpt-4o-mini ;;
    anthropic) name=claude-sonnet-4-5 ;;
    gemini) name=gemini-2.5-flash ;;
    *) fail "MODEL_PROVIDER=$provider is none of demo, openai, anthropic and gemini" ;;
  esac
  case ${MODEL_BASE_URL:-http://} in
    http://* | https://*) ;;
    *) fail "MODEL_BASE_URL=$MODEL_BASE_URL must begin with http:// or https://" ;;
  esac
  if [ -n "${MODEL_BASE_URL:-}" ]; then MODEL_BASE_URL=${MODEL_BASE_URL%/}; fi
  if [ -n "${MODEL_BASE_URL:-}" ] && [ -z "${MODEL_NAME:-}" ]; then
    name=$(first_model)
    if [ -z "$name" ]; then
      fail "$MODEL_BASE_URL/models lists no model: check MODEL_BASE_URL, which usually ends in /v1, or set MODEL_NAME"
    fi
  fi
  MODEL_NAME=${MODEL_NAME:-$name}
  export MODEL_NAME MODEL_BASE_URL
}

# Writes service.json with that model and says which one it is. The values stay in the environment.
use_model() {
  shipped='"default": {"provider": "demo", .*}$'
  if ! grep -q "^ *$shipped" conf/service.json; then
    cp conf/service.json "$prefix/conf/service.json"
    echo 'The model is the one of conf/service.json.'
    return
  fi
  choose_model
  if [ "$provider" = demo ]; then
    cp conf/service.json "$prefix/conf/service.json"
    echo 'The model is demo, which knows a few sentences. For a real one: OPENAI_API_KEY=… make run (also ANTHROPIC_API_KEY, GEMINI_API_KEY, MODEL_BASE_URL).'
    return
  fi
  model="\"provider\": \"$provider\", \"model\": \"\${MODEL_NAME}\""
  if [ -n "${MODEL_BASE_URL:-}" ]; then
    model="$model, \"base_url\": \"\${MODEL_BASE_URL}\", \"first_byte_timeout_ms\": 300000"
  fi
  if [ -n "${MODEL_API_KEY:-}" ]; then model="$model, \"api_key\": \"\${MODEL_API_KEY}\""; fi
  sed "s/$shipped/\"default\": {$model}/" conf/service.json >"$prefix/conf/service.json"
  echo "The model is $MODEL_NAME of ${MODEL_BASE_URL:-$provider}."
}

case $port in
  *[!0-9]* | '' | ??????*) fail "PORT=$port is no port: choose a number from 1 to 65535" ;;
esac
# The shipped configuration with the port replaced; its relative paths start at the prefix.
sed "s/127\.0\.0\.1:8000/127.0.0.1:$port/" conf/nginx.conf >"$prefix/conf/nginx.conf"
use_model
ln -sfn ../../release/ngx_http_agent_graph_module.so "$prefix/modules/ngx_http_agent_graph_module.so"
cp conf/graphs/*.json "$prefix/conf/graphs/"
# The pages are optional. nginx warns of folders that are missing.
mkdir -p build/docs build/ui
ln -sfn ../docs "$prefix/docs"
ln -sfn ../ui "$prefix/ui"
for graph in build/release/graphs/*.so; do
  if [ -e "$graph" ]; then ln -sf "$PWD/$graph" "$prefix/conf/graphs/"; fi
done

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
  # It may be listed first for the name localhost, which the documents use.
  if curl -s --noproxy '*' --max-time 2 -o /dev/null "http://[::1]:$port/"; then
    echo "Another program answers on [::1]:$port, which \"localhost\" may mean: use 127.0.0.1, or PORT=9000 make run" >&2
  fi
  browser="Talk to it in a browser: $url/ui/"
  if [ ! -e build/ui/index.html ]; then browser='`make ui` adds a page for the browser.'; fi
  cat <<TEXT

The agent answers on $url (Ctrl-C ends it). $browser

Try:

  curl -s $url/v1/graph/invoke -H 'Content-Type: application/json' -d '{"messages":[{"role":"user","content":"Hello"}],"config":{"thread_id":"first"}}'
  curl -sN $url/v1/graph/stream -H 'Content-Type: application/json' -d '{"messages":[{"role":"user","content":"What time is it in Tokyo?"}],"config":{"thread_id":"first"}}'
  curl -s $url/v1/threads/first/messages

TEXT
}
(say_what_to_try &)

exec /usr/sbin/nginx -p "$prefix/" -c conf/nginx.conf -e stderr -g "$globals"
