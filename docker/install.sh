#!/bin/sh
# install.sh   Installs nginx, if the image has none, the libraries of the module, and what build.sh
# has built. The second stage of the Dockerfile runs this as root.
set -eu
cd "$(dirname "$0")"
export DEBIAN_FRONTEND=noninteractive

apt-get -q update
sh ./install-packages.sh runtime
if ! command -v nginx >/dev/null; then apt-get -q install -y --no-install-recommends nginx; fi
# Lists and archives would only make the image larger.
rm -rf /var/lib/apt/lists/* /var/cache/apt/archives/*.deb

cp -R result/. /
# The number is the same in every image, so that volumes keep their owner.
groupadd --gid 10001 agent
useradd --uid 10001 --gid agent --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin agent
install -d -o agent -g agent -m 0700 /var/lib/agent-graph
