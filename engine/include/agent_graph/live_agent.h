// LiveAgent: a node that speaks with the user over WS /v1/graph/live.
//
//   graph.AddLiveAgent("VOICE", {.system_prompt = "You answer the phone.", .tool_node = "TOOLS"});
//   graph.AddToolNode("TOOLS", {weather});
//   graph.AddEdge(START, "VOICE");
//
// A graph with a live agent has nothing else on its path: START leads to the one live agent at its
// root. Tool nodes are there for their tools; further live agents are its sub-agents.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent_graph/export.h"

namespace agent_graph {

// How the provider finds out that the user speaks. What is not set is the provider's own default.
struct VoiceActivity {
  // False: the client says so, with activity_start and activity_end.
  std::optional<bool> enabled = {};
  std::optional<int> silence_duration_ms = {};  // of silence that ends an utterance
  std::optional<int> prefix_padding_ms = {};    // of speech that begins one
  std::string start_sensitivity = {};           // "high" or "low"
  std::string end_sensitivity = {};             // "high" or "low"
};

enum class Modality : uint8_t { kAudio, kText };

struct LiveAgent {
  // A key of `models` in service.json; its provider must have a realtime API.
  std::string model = "default";
  std::string voice = {};  // the provider's name of it; empty: its default
  Modality modality = Modality::kAudio;
  std::string system_prompt = {};
  std::string tool_node = {};                // whose tools the model may call; empty: none
  std::vector<std::string> tools_tags = {};  // only tools with one of these tags; empty: all
  VoiceActivity vad = {};
  // Live agents that the model may hand the conversation over to; they may hand it back.
  std::vector<std::string> sub_agents = {};
  std::string description = {};        // tells the others' models when to hand over to this one
  std::string parameters_json = "{}";  // the provider's own settings, passed through
};

}  // namespace agent_graph
