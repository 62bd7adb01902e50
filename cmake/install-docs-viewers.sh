#!/bin/sh
# install-docs-viewers.sh   Puts the viewers behind /docs and /redoc into build/docs, from the npm
# packages pinned here. Without npm or a network there is a plain page instead: nothing fails.
set -eu
cd "$(dirname "$0")/.."

folder=build/docs
# PACKAGE@VERSION INTEGRITY FILE...
pinned='swagger-ui-dist@5.35.0 sha512-U06rpMtW9V3XPGOBeamTUSr0Z09jMX4IJuANpE/EZbAhw0G8CgwrzU4YmXkn/h0wCDNsXdGarTNNHC3sU8yVUQ== swagger-ui.css swagger-ui-bundle.js LICENSE
redoc@2.5.4 sha512-M6jWhG1qoBnH6TFmzJnstyCZ87HmOY/UzDm78mHiYihEdlV/YcS9ogOo1NlElnJMeLsyxHFe2yFc4sNjHTrABQ== bundles/redoc.standalone.js LICENSE'

if [ "$(cat "$folder/installed" 2>/dev/null || true)" = "$pinned" ]; then exit 0; fi

give_up() {
  echo "install-docs-viewers.sh: $1; /docs and /redoc will be plain pages" >&2
  exit 0
}
command -v npm >/dev/null 2>&1 || give_up 'there is no npm'

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$folder"
echo "$pinned" >"$scratch/pinned"
while read -r package integrity files; do
  tarball=$(npm pack "$package" --pack-destination "$scratch" --loglevel=error </dev/null | tail -n 1) ||
    give_up "npm cannot get $package"
  found=sha512-$(openssl dgst -sha512 -binary "$scratch/$tarball" | openssl base64 -A)
  if [ "$found" != "$integrity" ]; then
    echo "install-docs-viewers.sh: $package is not the file it was: $found" >&2
    exit 1
  fi
  tar -xzf "$scratch/$tarball" -C "$scratch"
  for file in $files; do
    case "$file" in
      LICENSE) cp "$scratch/package/$file" "$folder/$file-${package%@*}" ;;
      *) cp "$scratch/package/$file" "$folder/" ;;
    esac
  done
  rm -rf "$scratch/package"
done <"$scratch/pinned"
echo "$pinned" >"$folder/installed"
