#!/bin/sh
# install-clients.sh   Installs the clients that t/clients pins, unmodified, in build/clients: those of
# npm, which the Node of build/node runs, and those of PyPI, for Debian's Python. Agent frameworks have a
# folder of their own, because they need other versions of the same packages.
set -eu
cd "$(dirname "$0")/.."

cmake/install-npm-programs.sh t/clients build/clients

# install_python REQUIREMENTS TARGET
install_python() {
  if cmp -s "$1" "$2/installed.txt"; then return; fi
  rm -rf "$2"
  /usr/bin/python3 -m pip install --quiet --disable-pip-version-check --no-input --root-user-action=ignore \
    --retries 5 --require-hashes --no-deps --only-binary :all: --no-compile \
    --target "$2" --requirement "$1" </dev/null
  cp "$1" "$2/installed.txt"
}

install_python t/clients/requirements.txt build/clients/python
install_python t/clients/frameworks.txt build/clients/frameworks
