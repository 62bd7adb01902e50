# clean-debian.sh   Functions for tests in a clean Debian; `source` it. It needs root and Debian's mirror.
#
# The caller sets `root`, the folder of the new system, and `suite`. It runs in a mount name space of its
# own, so that the mounts end with it.

# in_chroot COMMAND...
in_chroot() {
  chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"
}

mount_devices() {
  local device
  mount -t tmpfs tmpfs "$root/dev"
  for device in null zero full random urandom; do
    touch "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
  done
  ln -s /proc/self/fd "$root/dev/fd"
  mkdir "$root/dev/shm"
  mount -t tmpfs tmpfs "$root/dev/shm"
}

# make_root ARCHIVE   Unpacks a minimal Debian into `root`. ARCHIVE is made once, from Debian's mirror.
make_root() {
  local archive=$1
  rm -rf "$root"
  mkdir -p "$root" "$(dirname "$archive")"
  if [[ ! -f $archive ]]; then
    mmdebstrap --format=tar --variant=minbase --include=ca-certificates "$suite" "$archive.new" \
      "deb http://deb.debian.org/debian $suite main" \
      "deb http://deb.debian.org/debian-security $suite-security main" \
      "deb http://deb.debian.org/debian $suite-updates main"
    mv "$archive.new" "$archive"
  fi
  tar -C "$root" --exclude='./dev/*' -xf "$archive"
  mount_devices
  if [[ -f /etc/resolv.conf ]]; then cp -L /etc/resolv.conf "$root/etc/"; fi
  printf 'Dpkg::Use-Pty "false";\n' >"$root/etc/apt/apt.conf.d/90test"
}
