#include "graph/live_declaration.h"

#include <string>

#include "agent_graph/json.h"
#include "graph/live_problems.h"

namespace agent_graph::graph {
namespace {

constexpr int64_t kLiveMillisecondsMax = 60'000;

std::optional<int> ReadMilliseconds(ObjectReader& reader, const char* key) {
  if (reader.Value(key) == nullptr) return std::nullopt;
  return static_cast<int>(reader.Integer(key, 0, 0, kLiveMillisecondsMax));
}

VoiceActivity ReadVoiceActivity(ObjectReader& outer) {
  VoiceActivity vad;
  const json* value = outer.Value("vad");
  if (value == nullptr) return vad;
  ObjectReader reader(*value, outer.PathOf("vad"));
  if (reader.ok() && reader.Value("enabled") != nullptr) {
    vad.enabled = reader.Bool("enabled", true);
  }
  if (reader.ok()) {
    vad.silence_duration_ms = ReadMilliseconds(reader, "silence_duration_ms");
    vad.prefix_padding_ms = ReadMilliseconds(reader, "prefix_padding_ms");
    vad.start_sensitivity = reader.Text("start_sensitivity", "");
    vad.end_sensitivity = reader.Text("end_sensitivity", "");
  }
  for (const std::string& problem : VoiceActivityProblems(vad)) {
    reader.Fail(reader.path(), problem);
  }
  if (const Status status = reader.Finish(); !status.ok()) {
    const size_t colon = status.message().find(": ");  // end of the path
    outer.Fail(status.message().substr(0, colon), status.message().substr(colon + 2));
  }
  return vad;
}

}  // namespace

LiveAgent ReadLiveAgent(ObjectReader& reader) {
  LiveAgent agent;
  agent.model = reader.Text("model", agent.model);
  agent.voice = reader.Text("voice", "");
  const std::string modality = reader.Text("modality", "AUDIO");
  if (modality == "TEXT") {
    agent.modality = Modality::kText;
  } else if (modality != "AUDIO") {
    reader.Fail(reader.PathOf("modality"), "must be one of AUDIO, TEXT");
  }
  agent.system_prompt = reader.Text("system_prompt", "");
  agent.tool_node = reader.Text("tool_node", "");
  agent.tools_tags = reader.TextList("tools_tags");
  agent.vad = ReadVoiceActivity(reader);
  agent.sub_agents = reader.TextList("sub_agents");
  agent.description = reader.Text("description", "");
  agent.parameters_json = reader.ObjectText("parameters");
  return agent;
}

}  // namespace agent_graph::graph
