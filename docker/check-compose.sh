#!/bin/bash
# check-compose.sh   Checks docker/compose*.yaml without a container engine: their form, with the schema of
# the Compose Specification, that the files they mount and the ports they publish are there, and that
# neither git nor the image takes the file .env with API keys. If haproxy is installed, it checks its
# configuration, too. The schema comes from a package of PyPI, and is fetched once, into build/compose.
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
import shutil
import subprocess
import sys

import jsonschema
import yaml

folder = pathlib.Path("docker")
schema = json.loads(pathlib.Path(sys.argv[1]).read_text())
listens = set(re.findall(r"listen (\d+);", (folder / "nginx.conf").read_text()))
binds = set(re.findall(r"bind :(\d+)", (folder / "scale" / "haproxy.cfg").read_text()))
arguments = re.findall(r"^ARG (\w+)", (folder / "Dockerfile").read_text(), re.M)


def check(holds, name, problem):
    if not holds:
        sys.exit(f"check-compose.sh: docker/{name}: {problem}")


def check_file(name, ports):
    """`ports`: those that the service which is published listens on."""
    compose = yaml.safe_load((folder / name).read_text())
    jsonschema.validate(compose, schema)
    agent = compose["services"]["agent"]
    build = agent["build"]
    check((folder / build["context"] / build["dockerfile"]).is_file(), name, "there is no Dockerfile")
    check(set(build["args"]) <= set(arguments), name, "the Dockerfile does not know a build argument")
    for service_name, service in compose["services"].items():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            exists = (folder / source).exists() if source.startswith(".") else source in compose["volumes"]
            check(exists, name, f"{service_name}: there is no {source}")
        depends = service.get("depends_on", [])
        check(set(depends) <= set(compose["services"]), name, f"{service_name} waits for no service")
    published = next(s for s in compose["services"].values() if "profiles" not in s and "ports" in s)
    check(published["ports"][0].split(":")[-1] in ports, name, "nothing listens on the published port")
    return compose


for name, pattern in ((".gitignore", ".env"), ("docker/Dockerfile.dockerignore", "**/.env")):
    if pattern not in pathlib.Path(name).read_text().splitlines():
        sys.exit(f"check-compose.sh: {name} does not name {pattern}, where users put API keys")

compose = check_file("compose.yaml", listens)
scrape = yaml.safe_load((folder / "monitoring" / "prometheus.yaml").read_text())
for target in scrape["scrape_configs"][0]["static_configs"][0]["targets"]:
    host, port = target.split(":")
    check(host in compose["services"] and port in listens, "compose.yaml", f"Prometheus cannot reach {target}")

scale = check_file("compose.scale.yaml", binds)
settings = json.loads((folder / "scale" / "service.json").read_text())
variables = set(re.findall(r"\$\{(\w+)\}", json.dumps(settings)))
for service_name in ("agent", "migrate"):
    missing = variables - set(scale["services"][service_name]["environment"])
    check(not missing, "compose.scale.yaml", f"{service_name} has no {missing}")
balancer = (folder / "scale" / "haproxy.cfg").read_text()
host, port = re.search(r"server-template agent \d+ (\w+):(\d+)", balancer).groups()
check(host in scale["services"] and port in listens, "scale/haproxy.cfg", f"there is no {host}:{port}")
clients = int(re.search(r"maxconn (\d+)", balancer).group(1))
descriptors = scale["services"]["balancer"]["ulimits"]["nofile"]
check(descriptors > 2 * clients + 100, "compose.scale.yaml", f"{descriptors} descriptors are too few for haproxy")
if program := shutil.which("haproxy", path="/usr/sbin:/usr/bin"):
    subprocess.run([program, "-c", "-q", "-f", folder / "scale" / "haproxy.cfg"], check=True)
print("check-compose.sh: docker/compose*.yaml are valid, and what they name exists")
PYTHON
