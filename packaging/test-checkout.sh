#!/bin/bash
# test-checkout.sh   Tries the quickstart in a clean Debian that has this checkout and make: `make run`, then
# agents with own tools and an own model, also in C++. It needs root, and Debian's mirror. Nothing of this
# machine is changed. Without a compiler cache the build takes minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
suite=bookworm
root=$PWD/build/checkout/chroot
folder=/root/agent-graph
source packaging/clean-debian.sh

# The files of the checkout, without what was built.
copy_checkout() {
  mkdir -p "$root$folder"
  git ls-files -z --cached --others --exclude-standard |
    tar --null --files-from=- --ignore-failed-read -cf - | tar -C "$root$folder" -xf -
}

# Runs a make target in the checkout, as root does in a terminal.
make_in_checkout() { in_chroot env HOME=/root make -C "$folder" "$@"; }

case "${STAGE:-}" in
  '') STAGE=build exec unshare --mount "$0" ;;
  build)
    cmake/install-packages.sh deb-test
    make_root build/deb/$suite.tar
    copy_checkout
    # Packages of servers must not start them in the network of this machine.
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
    chmod +x "$root/usr/sbin/policy-rc.d"
    in_chroot apt-get -q update
    in_chroot apt-get -q install -y make
    begun=$SECONDS
    make_in_checkout serving JOBS="${JOBS:-$(nproc)}"
    echo "test-checkout: make run has installed packages and built after $((SECONDS - begun)) s"
    STAGE=steps exec unshare --mount --pid --net --ipc --uts --fork --kill-child "$0" ;;
esac

mount -t proc proc "$root/proc"
mount -t proc proc /proc
ip link set lo up
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
begun=$SECONDS
make_in_checkout run &
until in_chroot curl -fs -o /dev/null http://127.0.0.1:8000/ready; do
  kill -0 $!
  sleep 0.2
done
echo "test-checkout: make run serves after $((SECONDS - begun)) s"
answer=$(in_chroot "$folder/build/release/agent-graph" chat <<<'What is 6 * 7?')
[[ $answer == *'6 * 7 = 42.'* ]] || { echo "test-checkout: FAILED: the answer is $answer" >&2; exit 1; }
kill -INT "$(cat "$root$folder/build/run/logs/nginx.pid")"
wait
/usr/bin/python3 packaging/first_hour.py "$root" "$folder"
echo 'test-checkout: the quickstart works from a checkout'
