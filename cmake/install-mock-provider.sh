#!/bin/sh
# install-mock-provider.sh   Puts the pinned Node and the programs that the tests talk to into build/node.
exec "$(dirname "$0")/install-npm-programs.sh" t build/node
