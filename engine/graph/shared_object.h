// The C++ form: a shared object that exports a graph with AGENT_GRAPH_EXPORT.
#pragma once

#include <string>

#include "agent_graph/graph.h"
#include "agent_graph/plugin.h"
#include "base/sealed_copy.h"
#include "base/status.h"

namespace agent_graph::graph {

// Loads `path`, or `copy` of it when there is one, for good and lets its export fill `builder`.
// Failures are kGraph, one line, without the path. Nothing of the graph's is called before its ABI
// record was compared, except the static constructors that loading runs.
Status BuildFromSharedObject(const std::string& path, const SealedCopy& copy,
                             const std::string& attribute, GraphBuilder& builder);

// Loads the shared object `path`, or `copy` of it when there is one, for good and finds an exported
// object in it; null when it has none of that name. Loaded code of a copy goes by the name of the
// file that was copied: for dladdr, in stack traces and in debuggers.
Result<const void*> FindExport(const std::string& path, const SealedCopy& copy,
                               const std::string& symbol);

// What is different, in a sentence that says what to do; Ok when the graph may be called.
Status CompareAbi(const AbiRecord& graph, const AbiRecord& server);

}  // namespace agent_graph::graph
