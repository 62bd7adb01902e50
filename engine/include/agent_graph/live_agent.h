// LiveAgent: a node that talks with the user over WS /v1/graph/live.
//
//   graph.AddLiveAgent("VOICE", {.system_prompt = "You answer the phone.", .tool_node = "TOOLS"});
//   graph.AddToolNode("TOOLS", {weather});
//   graph.AddEdge(START, "VOICE");
//
// In a graph with live agents START leads to one live agent, its root, and no other node is on the
// path. Tool nodes only provide tools; further live agents are its sub-agents.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent_graph/export.h"

namespace agent_graph {

// Voice activity detection: how the provider detects that the user speaks. For each field that is
// not set the provider uses its own default.
struct VoiceActivity {
  // False: no detection; the client sends activity_start and activity_end.
  std::optional<bool> enabled = {};
  std::optional<int> silence_duration_ms = {};  // milliseconds of silence that end an utterance
  std::optional<int> prefix_padding_ms = {};    // milliseconds of speech that start an utterance
  std::string start_sensitivity = {};           // "high" or "low"
  std::string end_sensitivity = {};             // "high" or "low"
};

enum class Modality : uint8_t { kAudio, kText };

struct LiveAgent {
  // A key of `models` in service.json. Its provider must have a realtime API.
  std::string model = "default";
  std::string voice = {};  // the provider's name of the voice; empty: the provider's default
  Modality modality = Modality::kAudio;
  std::string system_prompt = {};
  std::string tool_node = {};                // its tools are offered to the model; empty: no tools
  std::vector<std::string> tools_tags = {};  // only tools with one of these tags; empty: all
  VoiceActivity vad = {};
  // Live agents that the model may transfer the conversation to. They may transfer it back.
  std::vector<std::string> sub_agents = {};
  std::string description = {};        // tells the other agents' models when to transfer to it
  std::string parameters_json = "{}";  // settings that are passed to the provider unchanged
};

}  // namespace agent_graph
