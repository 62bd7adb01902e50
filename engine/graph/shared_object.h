// The C++ form: a shared object that exports a graph with AGENT_GRAPH_EXPORT.
#pragma once

#include <string>

#include "agent_graph/graph.h"
#include "agent_graph/plugin.h"
#include "base/status.h"

namespace agent_graph::graph {

// Loads `path` for good and lets its export fill `builder`. Failures are kGraph, one line, without
// the path. Nothing of the graph's is called before its ABI record was compared, except the static
// constructors that loading runs.
Status BuildFromSharedObject(const std::string& path, const std::string& attribute,
                             GraphBuilder& builder);

// Loads the shared object `path` for good and finds an exported object in it; null when it has none
// of that name.
Result<const void*> FindExport(const std::string& path, const std::string& symbol);

// A path for LoadGraph's and FindExport's linker: the dynamic linker takes a name it has seen
// before for the same file, but a descriptor's number is used again for other files, so each load
// gets its own spelling.
std::string DescriptorPath(int fd);

// What is different, in a sentence that says what to do; Ok when the graph may be called.
Status CompareAbi(const AbiRecord& graph, const AbiRecord& server);

}  // namespace agent_graph::graph
