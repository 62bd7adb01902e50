// AGENT_GRAPH_EXPORT: makes a graph of this shared object loadable by the server.
//
// `"agent": "graphs/support.so:app"` in service.json looks for the export named `app`. The export
// carries an ABI record that is compared before any of your code is called, so that a graph built
// against other headers or another standard library is refused with a clear line, not with a crash.
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

// Fixed layout: only ever extended at its end, `record_bytes` tells how far it goes.
struct AbiRecord {
  uint32_t record_bytes;
  uint32_t sdk_version;       // major * 10000 + minor * 100 + patch
  CompilerFamily compiler;    // told in messages; g++ and clang++ may be mixed
  uint32_t libstdcxx_abi;     // _GLIBCXX_USE_CXX11_ABI
  uint32_t cxx_standard;      // __cplusplus
  uint32_t nlohmann_version;  // major * 10000 + minor * 100 + patch
  uint32_t sizes[22];         // of the types that cross the border
};

inline constexpr uint64_t kGraphDescriptorMagic = 0x41475248'47525048;

struct GraphDescriptor {
  uint64_t magic;
  AbiRecord abi;
  void (*build)(GraphBuilder& graph);
};

// The record of whoever compiles this: inline on purpose, and hidden, so that the graph and the
// server each have their own.
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
