// Exports that must be rejected, each for a different reason.
#include <agent_graph/agent_graph.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

using namespace agent_graph;

namespace {

void Throws(GraphBuilder&) {
  throw std::runtime_error("no configuration");
}
void ThrowsNumber(GraphBuilder&) {
  throw 42;
}
void Crashes(GraphBuilder&) {
  std::puts("before the crash");
  std::fflush(stdout);
  std::raise(SIGSEGV);
}
void Leaves(GraphBuilder&) {
  std::_Exit(0);
}
void Terminates(GraphBuilder& graph) noexcept {
  Throws(graph);
}
void Empty(GraphBuilder&) {}

constexpr AbiRecord Changed(void (*change)(AbiRecord& abi)) {
  AbiRecord abi = CurrentAbi();
  change(abi);
  return abi;
}

}  // namespace

AGENT_GRAPH_EXPORT(throwing, Throws)
AGENT_GRAPH_EXPORT(throwing_number, ThrowsNumber)
AGENT_GRAPH_EXPORT(crashing, Crashes)
AGENT_GRAPH_EXPORT(leaving, Leaves)
AGENT_GRAPH_EXPORT(terminating, Terminates)
AGENT_GRAPH_EXPORT(empty, Empty)

#define EXPORT_WITH(attribute, magic, change)                                      \
  extern "C" AGENT_GRAPH_API const GraphDescriptor agent_graph_export_##attribute; \
  const GraphDescriptor agent_graph_export_##attribute = {                         \
      magic, Changed([](AbiRecord& abi) { change; }), Empty};

EXPORT_WITH(no_magic, 1, (void)abi)
EXPORT_WITH(other_sdk, kGraphDescriptorMagic, abi.sdk_version += 100)
EXPORT_WITH(other_json, kGraphDescriptorMagic, abi.nlohmann_version -= 1)
EXPORT_WITH(other_layout, kGraphDescriptorMagic, abi.sizes[3] += 8)
EXPORT_WITH(old_standard, kGraphDescriptorMagic, abi.cxx_standard = 201703)
EXPORT_WITH(old_strings, kGraphDescriptorMagic, abi.libstdcxx_abi = 0)
