// Titles of conversation threads, made by a function of yours.
//
//   std::string Title(const std::vector<std::string>& texts) { return texts[0].substr(0, 40); }
//   AGENT_GRAPH_EXPORT_THREAD_NAMES(titles, Title)
//
// `"thread_name_generator": "graphs/names.so:titles"` in service.json loads the export `titles`.
#pragma once

#include <string>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "agent_graph/plugin.h"

namespace agent_graph {

// Called once for each new thread, at the end of its first run. `texts` are the messages of that
// run, oldest first. Must be thread-safe. It may block for a few seconds, but the client receives
// `done` only after it returns. If it throws, takes too long or returns an empty string, the thread
// has no name.
using ThreadNameFunction = std::string (*)(const std::vector<std::string>& texts);

inline constexpr uint64_t kThreadNamesDescriptorMagic = 0x41475248'4e414d45;

struct ThreadNamesDescriptor {
  uint64_t magic;
  AbiRecord abi;
  ThreadNameFunction make;
};

}  // namespace agent_graph

#define AGENT_GRAPH_EXPORT_THREAD_NAMES(attribute, function)                          \
  extern "C" AGENT_GRAPH_API const ::agent_graph::ThreadNamesDescriptor               \
      agent_graph_thread_names_##attribute;                                           \
  const ::agent_graph::ThreadNamesDescriptor agent_graph_thread_names_##attribute = { \
      ::agent_graph::kThreadNamesDescriptorMagic, ::agent_graph::CurrentAbi(), function};
