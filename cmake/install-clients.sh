#!/bin/sh
# install-clients.sh   Installs the clients that t/clients pins, unmodified, in build/clients: those of
# npm, which the Node of build/node runs, and those of PyPI, for Debian's Python.
set -eu
cd "$(dirname "$0")/.."

cmake/install-npm-programs.sh t/clients build/clients

target=build/clients/python
if cmp -s t/clients/requirements.txt "$target/installed.txt"; then exit 0; fi
rm -rf "$target"
/usr/bin/python3 -m pip install --quiet --disable-pip-version-check --no-input --root-user-action=ignore \
  --retries 5 --require-hashes --no-deps --only-binary :all: --no-compile \
  --target "$target" --requirement t/clients/requirements.txt </dev/null
cp t/clients/requirements.txt "$target/installed.txt"
