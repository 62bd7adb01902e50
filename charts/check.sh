#!/bin/bash
# check.sh   Renders the chart with its default values and with everything enabled, and validates the
# manifests against the schemas of two versions of Kubernetes. It needs Go and pip: helm and kubeconform
# are compiled once in build/charts (several minutes), the schemas come from a package of PyPI.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=$PWD/build/charts
versions=(v1.31.0 v1.36.0)
schemas=kubernetes-validate==1.37.0

export PATH=$tools/bin:$PATH GOBIN=$tools/bin
command -v helm >/dev/null || go install helm.sh/helm/v3/cmd/helm@v3.18.6
command -v kubeconform >/dev/null || go install github.com/yannh/kubeconform/cmd/kubeconform@v0.7.0
if [[ ! -d $tools/schemas ]]; then
  python3 -m pip download -q --no-deps -d "$tools" "$schemas"
  python3 -m zipfile -e "$tools"/kubernetes_validate-*.whl "$tools/schemas.new"
  # The schemas have addresses of a web server, by which they would be loaded.
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

check defaults
check everything --values charts/everything.yaml
echo 'charts/check.sh: the manifests are valid'
