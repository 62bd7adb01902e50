// AGENT_GRAPH_EXPORT: exports a graph from a shared object so that the server can load it.
//
// `"agent": "graphs/support.so:app"` in service.json loads the export named `app`. The export
// contains an ABI record. The server compares it with its own before it calls any of your code, so
// a graph that was built against other headers or another standard library is refused with a clear
// error instead of crashing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "agent_graph/graph.h"
#include "agent_graph/json_fwd.h"
#include "agent_graph/memory.h"
#include "agent_graph/run_context.h"
#include "agent_graph/version.h"

static_assert(__cplusplus >= 202002L, "graphs are compiled with -std=c++20 or later");

namespace agent_graph {

enum class CompilerFamily : uint32_t { kOther = 0, kGnu = 1, kClang = 2 };

// Fixed layout: new fields are only added at the end, and `record_bytes` is the size of the record.
struct AbiRecord {
  uint32_t record_bytes;
  uint32_t sdk_version;       // major * 10000 + minor * 100 + patch
  CompilerFamily compiler;    // only for messages; g++ and clang++ may be mixed
  uint32_t libstdcxx_abi;     // _GLIBCXX_USE_CXX11_ABI
  uint32_t cxx_standard;      // __cplusplus
  uint32_t nlohmann_version;  // major * 10000 + minor * 100 + patch
  uint32_t sizes[22];         // sizes of the types that are passed between graph and server
};

inline constexpr uint64_t kGraphDescriptorMagic = 0x41475248'47525048;

struct GraphDescriptor {
  uint64_t magic;
  AbiRecord abi;
  void (*build)(GraphBuilder& graph);
};

// The ABI record of the code that includes this header. It is inline and hidden on purpose, so that
// the graph and the server each have their own.
__attribute__((visibility("hidden"))) constexpr AbiRecord CurrentAbi() {
#if defined(__clang__)
  constexpr CompilerFamily kFamily = CompilerFamily::kClang;
#elif defined(__GNUC__)
  constexpr CompilerFamily kFamily = CompilerFamily::kGnu;
#else
  constexpr CompilerFamily kFamily = CompilerFamily::kOther;
#endif
#if defined(_GLIBCXX_USE_CXX11_ABI)
  constexpr uint32_t kLibstdcxxAbi = _GLIBCXX_USE_CXX11_ABI;
#else
  constexpr uint32_t kLibstdcxxAbi = ~0u;  // not libstdc++
#endif
  return AbiRecord{sizeof(AbiRecord),
                   kSdkVersion,
                   kFamily,
                   kLibstdcxxAbi,
                   static_cast<uint32_t>(__cplusplus),
                   NLOHMANN_JSON_VERSION_MAJOR * 10000 + NLOHMANN_JSON_VERSION_MINOR * 100 +
                       NLOHMANN_JSON_VERSION_PATCH,
                   {sizeof(std::string),
                    sizeof(std::vector<Message>),
                    sizeof(std::function<void()>),
                    sizeof(Message),
                    sizeof(State),
                    sizeof(NodeResult),
                    sizeof(Agent),
                    sizeof(Tool),
                    sizeof(StateField),
                    sizeof(GraphBuilder),
                    sizeof(HttpTool),
                    sizeof(McpServer),
                    sizeof(RemoteTool),
                    sizeof(LiveAgent),
                    sizeof(RetryPolicy),
                    sizeof(ContextPolicy),
                    sizeof(ModelCall),
                    sizeof(RunContext),
                    sizeof(ToolContext),
                    sizeof(NewMemory),
                    sizeof(FoundMemory),
                    sizeof(MemorySearch)}};
}

}  // namespace agent_graph

#define AGENT_GRAPH_EXPORT(attribute, build_function)                                             \
  extern "C" AGENT_GRAPH_API const ::agent_graph::GraphDescriptor agent_graph_export_##attribute; \
  const ::agent_graph::GraphDescriptor agent_graph_export_##attribute = {                         \
      ::agent_graph::kGraphDescriptorMagic, ::agent_graph::CurrentAbi(), build_function};
