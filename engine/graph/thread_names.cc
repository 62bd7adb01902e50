#include "graph/thread_names.h"

#include "graph/shared_object.h"

namespace agent_graph::graph {

Result<const ThreadNamesDescriptor*> LoadThreadNames(const std::string& path,
                                                     const std::string& attribute,
                                                     const SealedCopy& copy) {
  auto fail = [&](const std::string& reason) {
    return Status(StatusCode::kGraph, path + ": " + reason);
  };
  Result<const void*> symbol = FindExport(path, copy, "agent_graph_thread_names_" + attribute);
  if (!symbol.ok()) return fail(symbol.status().message());
  const auto* descriptor = static_cast<const ThreadNamesDescriptor*>(*symbol);
  if (descriptor == nullptr) {
    return fail("exports no \"" + attribute + "\": it needs AGENT_GRAPH_EXPORT_THREAD_NAMES(" +
                attribute + ", YourFunction)");
  }
  if (descriptor->magic != kThreadNamesDescriptorMagic || descriptor->make == nullptr) {
    return fail("the export \"" + attribute + "\" names no threads");
  }
  Status compared = CompareAbi(descriptor->abi, CurrentAbi());
  if (!compared.ok()) return fail(compared.message());
  return descriptor;
}

}  // namespace agent_graph::graph
