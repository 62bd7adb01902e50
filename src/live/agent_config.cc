#include "live/agent_config.h"

#include "base/json.h"
#include "live/transfer_tool.h"

namespace agent_graph::live {
namespace {

template <typename T>
void Override(T& value, const T& wish) {
  if (wish != T()) value = wish;
}

VoiceActivity Merge(VoiceActivity vad, const VoiceActivity& wish) {
  Override(vad.enabled, wish.enabled);
  Override(vad.silence_duration_ms, wish.silence_duration_ms);
  Override(vad.prefix_padding_ms, wish.prefix_padding_ms);
  Override(vad.start_sensitivity, wish.start_sensitivity);
  Override(vad.end_sensitivity, wish.end_sensitivity);
  return vad;
}

models::ToolDeclaration TransferTool(const graph::CompiledGraph& graph,
                                     const std::vector<std::string>& targets) {
  models::ToolDeclaration tool;
  tool.name = kTransferTool;
  tool.description = "Hands the conversation over to another agent:";
  tool.parameters_json =
      R"({"type":"object","required":["agent"],"properties":{"agent":{"type":"string","enum":[)";
  for (size_t i = 0; i < targets.size(); ++i) {
    if (i > 0) tool.parameters_json.push_back(',');
    AppendJsonString(tool.parameters_json, targets[i]);
    const LiveAgent* agent = graph.FindLiveAgent(targets[i]);
    tool.description += "\n" + targets[i];
    if (!agent->description.empty()) tool.description += ": " + agent->description;
  }
  tool.parameters_json += "]}}}";
  return tool;
}

}  // namespace

run::OfferedTools FilterTools(const run::OfferedTools& offered, const LiveAgent& agent,
                              const InitFrame& init) {
  const std::vector<std::string>& tags = init.tools_tags ? *init.tools_tags : agent.tools_tags;
  return run::WithTags(offered, tags);
}

realtime::LinkConfig ComposeConfig(const graph::CompiledGraph& graph, const std::string& agent_name,
                                   const InitFrame& init, const run::OfferedTools& tools) {
  const LiveAgent& agent = *graph.FindLiveAgent(agent_name);
  realtime::LinkConfig config;
  config.entry = agent.model;
  config.voice = agent.voice;
  // Names of models and voices are valid only for their own provider.
  if (agent.model == graph.FindLiveAgent(graph.live_root()->name)->model) {
    config.model = init.model;
    Override(config.voice, init.voice);
  }
  config.modality = init.modality.value_or(agent.modality);
  config.system_prompt = agent.system_prompt;
  if (init.system_prompt && graph.live_root()->name == agent_name) {
    config.system_prompt = *init.system_prompt;
  }
  config.vad = Merge(agent.vad, init.vad);
  config.parameters_json = agent.parameters_json;
  for (const run::OfferedTool& entry : tools) {
    config.tools.push_back(
        {entry.tool->name, entry.tool->description, entry.tool->parameters_json});
  }
  const std::vector<std::string> targets = graph.HandoverTargets(agent_name);
  if (!targets.empty()) config.tools.push_back(TransferTool(graph, targets));
  return config;
}

}  // namespace agent_graph::live
