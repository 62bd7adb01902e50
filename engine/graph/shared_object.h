// The C++ form of graphs: a shared object that exports a graph with AGENT_GRAPH_EXPORT.
#pragma once

#include <functional>
#include <string>

#include "agent_graph/graph.h"
#include "agent_graph/plugin.h"
#include "base/sealed_copy.h"
#include "base/status.h"

namespace agent_graph::graph {

// Loads `path` permanently, or `copy` of it if given, and calls its export to fill `builder`.
// Failures are kGraph: one line, without the path. Before the ABI record has been compared, no code
// of the graph runs except the static constructors that run while loading.
Status BuildFromSharedObject(const std::string& path, const SealedCopy& copy,
                             const std::string& attribute, GraphBuilder& builder);

// Loads the shared object `path` permanently, or `copy` of it if given, and finds an exported
// object; null if there is none of that name. Code loaded from a copy has the name of the original
// file in dladdr, stack traces and debuggers.
Result<const void*> FindExport(const std::string& path, const SealedCopy& copy,
                               const std::string& symbol);

// FindExport calls `observer` with the path before it loads anything. For a process that only tries
// shared objects: if one crashes it, the parent knows which one.
void ObserveLoading(std::function<void(const std::string& path)> observer);

// Ok if the graph may be called; otherwise one sentence with the difference and what to do about
// it.
Status CompareAbi(const AbiRecord& graph, const AbiRecord& server);

}  // namespace agent_graph::graph
