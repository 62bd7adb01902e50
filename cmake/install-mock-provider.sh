#!/bin/sh
# install-mock-provider.sh   Installs the pinned Node and the programs that the tests connect to in
# build/node.
exec "$(dirname "$0")/install-npm-programs.sh" t build/node
