#!/bin/bash
# check-compose.sh   Checks docker/compose.yaml without a container engine: its form, with the schema of
# the Compose Specification, and that the files it mounts and the ports it publishes are there. The
# schema comes from a package of PyPI, and is fetched once, into build/compose.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$PWD/build/compose
schema_package=check-jsonschema==0.39.0
schema_sha256=14ce5c94871c551268ea948ffe21e9f1464dc48fb20bf9a4c13deeaaf756cf9b

cmake/install-packages.sh charts
if [[ ! -f $work/compose-spec.json ]]; then
  mkdir -p "$work"
  python3 -m pip download -q --no-deps --disable-pip-version-check -d "$work" "$schema_package"
  wheel=("$work"/check_jsonschema-*.whl)
  sha256sum --check --quiet <<<"$schema_sha256  ${wheel[0]}"
  python3 -m zipfile -e "${wheel[0]}" "$work/package"
  mv "$work/package/check_jsonschema/builtin_schemas/vendor/compose-spec.json" "$work/"
  rm -r "$work/package" "${wheel[@]}"
fi

/usr/bin/python3 - "$work/compose-spec.json" <<'PYTHON'
import json
import pathlib
import re
import sys

import jsonschema
import yaml

folder = pathlib.Path("docker")
compose = yaml.safe_load((folder / "compose.yaml").read_text())
jsonschema.validate(compose, json.loads(pathlib.Path(sys.argv[1]).read_text()))


def check(holds, problem):
    if not holds:
        sys.exit(f"check-compose.sh: docker/compose.yaml: {problem}")


agent = compose["services"]["agent"]
build = agent["build"]
context = folder / build["context"]
check((context / build["dockerfile"]).is_file(), "there is no Dockerfile")
arguments = re.findall(r"^ARG (\w+)", (folder / "Dockerfile").read_text(), re.M)
check(set(build["args"]) <= set(arguments), "the Dockerfile does not know a build argument")

for name, service in compose["services"].items():
    for volume in service.get("volumes", []):
        source = volume.split(":")[0]
        if source.startswith("."):
            check((folder / source).exists(), f"{name}: there is no {source}")
        else:
            check(source in compose["volumes"], f"{name}: there is no volume {source}")

conf = (folder / "nginx.conf").read_text()
listens = set(re.findall(r"listen (\d+);", conf))
check(agent["ports"][0].split(":")[-1] in listens, "the agent does not listen on its port")
scrape = yaml.safe_load((folder / "monitoring" / "prometheus.yaml").read_text())
for target in scrape["scrape_configs"][0]["static_configs"][0]["targets"]:
    host, port = target.split(":")
    check(host in compose["services"] and port in listens, f"Prometheus cannot reach {target}")
print("check-compose.sh: docker/compose.yaml is valid, and what it names exists")
PYTHON
