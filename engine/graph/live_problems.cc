#include "graph/live_problems.h"

#include <set>

namespace agent_graph::graph {
namespace {

constexpr int kVoiceActivityMillisecondsMax = 60'000;

// Live agents that are no other agent's sub-agent.
std::vector<std::string> Roots(const GraphDefinition& definition) {
  std::set<std::string> targets;
  for (const Node& node : definition.nodes) {
    const auto* agent = std::get_if<LiveAgent>(&node.kind);
    if (agent == nullptr) continue;
    for (const std::string& name : agent->sub_agents) {
      if (name != node.name) targets.insert(name);
    }
  }
  std::vector<std::string> roots;
  for (const Node& node : definition.nodes) {
    if (std::holds_alternative<LiveAgent>(node.kind) && !targets.contains(node.name)) {
      roots.push_back(node.name);
    }
  }
  return roots;
}

bool HasLiveAgent(const GraphDefinition& definition) {
  for (const Node& node : definition.nodes) {
    if (std::holds_alternative<LiveAgent>(node.kind)) return true;
  }
  return false;
}

bool IsLive(const GraphDefinition& definition, const std::string& name) {
  for (const Node& node : definition.nodes) {
    if (node.name == name) return std::holds_alternative<LiveAgent>(node.kind);
  }
  return false;
}

void CheckMilliseconds(const std::optional<int>& value, const std::string& name,
                       std::vector<std::string>& problems) {
  if (value && (*value < 0 || *value > kVoiceActivityMillisecondsMax)) {
    problems.push_back("vad." + name + " must be 0 to " +
                       std::to_string(kVoiceActivityMillisecondsMax));
  }
}

void CheckSensitivity(const std::string& value, const std::string& name,
                      std::vector<std::string>& problems) {
  if (!value.empty() && value != "high" && value != "low") {
    problems.push_back("vad." + name + " must be \"high\" or \"low\"");
  }
}

}  // namespace

void CheckLiveAgents(const GraphDefinition& definition, std::vector<std::string>& problems) {
  if (!HasLiveAgent(definition)) return;
  const std::vector<std::string> roots = Roots(definition);
  if (roots.empty()) {
    problems.emplace_back("the live agents are all sub-agents of each other: one must be the root");
    return;
  }
  if (roots.size() > 1) {
    problems.push_back("a graph has one live agent at its root: \"" + roots[0] + "\" and \"" +
                       roots[1] + "\" are no sub-agents of any other");
    return;
  }
  for (const OutgoingEdge& edge : definition.edges) {
    if (edge.from == START) {
      if (edge.conditional || edge.targets[0] != roots[0]) {
        problems.push_back("START must lead to the live agent \"" + roots[0] + "\"");
      }
    } else if (IsLive(definition, edge.from) && edge.targets != std::vector<std::string>{END}) {
      problems.push_back("the edge from \"" + edge.from + "\": a live agent leads to END only");
    }
  }
  if (!definition.interrupt_before.empty() || !definition.interrupt_after.empty()) {
    problems.emplace_back("a graph with a live agent has no interrupts");
  }
}

std::vector<std::string> VoiceActivityProblems(const VoiceActivity& vad) {
  std::vector<std::string> problems;
  CheckMilliseconds(vad.silence_duration_ms, "silence_duration_ms", problems);
  CheckMilliseconds(vad.prefix_padding_ms, "prefix_padding_ms", problems);
  CheckSensitivity(vad.start_sensitivity, "start_sensitivity", problems);
  CheckSensitivity(vad.end_sensitivity, "end_sensitivity", problems);
  return problems;
}

}  // namespace agent_graph::graph
