#include "service/agent.h"

#include <set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "graph/load.h"
#include "graph/thread_names.h"
#include "memory/embedder.h"
#include "run/loop/thread_name.h"
#include "run/nodes/remote_tools.h"

namespace agent_graph::service {
namespace {

std::vector<tools::NodeSources> ToolSources(const graph::CompiledGraph& graph) {
  std::vector<tools::NodeSources> sources;
  for (const graph::Node& node : graph.nodes()) {
    if (const auto* tools = std::get_if<graph::ToolNode>(&node.kind)) {
      sources.push_back({node.name, tools->http_tools, tools->mcp_servers});
    }
  }
  return sources;
}

// Names of the models that graphs may use, as text: "default, demo".
std::string KnownModels(const settings::Settings& settings) {
  std::set<std::string> names = {"demo"};  // always available
  if (settings.models.empty()) names.insert("default");
  for (const models::ProviderOptions& model : settings.models) names.insert(model.name);
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

Status CheckModels(const settings::Settings& settings, const Agent& agent) {
  auto fail = [&](const graph::ModelUse& use, const std::string& reason) {
    return Status(StatusCode::kGraph, settings.agent.module + ": " + settings.agent.attribute +
                                          ": " + use.asker + " asks the model \"" + use.model +
                                          "\", " + reason);
  };
  const std::string unknown =
      "which is not configured; `models` of service.json has " + KnownModels(settings);
  const std::string realtime_providers = JoinNames(realtime::ProviderNames(), ", ", " and ");
  for (const graph::ModelUse& use : agent.graph->ModelUses()) {
    const bool configured = agent.models->Find(use.model) != nullptr;
    if (!configured) return fail(use, unknown);
    if (use.live && agent.realtime->Find(use.model) == nullptr) {
      return fail(use,
                  "whose provider has no realtime API; those of " + realtime_providers + " do");
    }
  }
  return Status::Ok();
}

Result<run::ThreadNamer> ThreadNames(const settings::ThreadNameSettings& names) {
  using Method = settings::ThreadNameSettings::Method;
  switch (names.method) {
    case Method::kNone:
      break;
    case Method::kRandom:
      return run::ThreadNamer(
          [](const std::vector<std::string>&) { return run::RandomThreadName(); });
    case Method::kCustom: {
      auto loaded = graph::LoadThreadNames(names.function.module, names.function.attribute,
                                           names.function.copy);
      if (loaded.ok()) return run::ThreadNamer((*loaded)->make);
      return Status(StatusCode::kInvalidArgument,
                    "thread_name_generator: " + loaded.status().message());
    }
  }
  return run::ThreadNamer();
}

Result<std::vector<state::RemoteTool>> CollectRemoteTools(const settings::Settings& settings,
                                                          const graph::CompiledGraph& graph) {
  std::vector<state::RemoteTool> tools = run::DeclaredRemoteTools(graph);
  std::set<std::pair<std::string, std::string>> names;
  for (const state::RemoteTool& tool : tools) names.emplace(tool.node, tool.name);
  for (size_t i = 0; i < settings.remote_tools.size(); ++i) {
    const settings::RemoteToolSettings& declared = settings.remote_tools[i];
    state::RemoteTool tool{declared.node, declared.name, declared.description,
                           declared.parameters_json};
    auto problem = run::FindProblem(graph, tool);
    if (!problem && !names.emplace(tool.node, tool.name).second) {
      problem = {"name", "the node has another remote tool of that name"};
    }
    if (problem) {
      return Status(StatusCode::kInvalidArgument, "remote_tools." + std::to_string(i) + "." +
                                                      problem->field + ": " + problem->text);
    }
    tools.push_back(std::move(tool));
  }
  return tools;
}

}  // namespace

Result<Agent> BuildAgent(const settings::Settings& settings,
                         std::shared_ptr<const process::Launcher> launcher) {
  Agent agent;
  AG_ASSIGN_OR_RETURN(agent.models,
                      models::Registry::Create(settings.models, settings.environment));
  AG_ASSIGN_OR_RETURN(agent.realtime,
                      realtime::Registry::Create(settings.models, settings.environment));
  AG_ASSIGN_OR_RETURN(agent.graph, graph::LoadGraph(settings.agent.module, settings.agent.attribute,
                                                    settings.agent.copy));
  AG_RETURN_IF_ERROR(CheckModels(settings, agent));
  auto catalog =
      tools::Catalog::Create(ToolSources(*agent.graph), settings.environment, std::move(launcher));
  if (!catalog.ok()) {
    return Status(StatusCode::kGraph, settings.agent.module + ": " + settings.agent.attribute +
                                          ": " + catalog.status().message());
  }
  agent.catalog = *std::move(catalog);
  if (settings.store.type != settings::StoreSettings::Type::kNone) {
    AG_ASSIGN_OR_RETURN(agent.embedder,
                        memory::MakeEmbedder(settings.embedding, settings.environment));
  }
  AG_ASSIGN_OR_RETURN(agent.name_thread, ThreadNames(settings.thread_names));
  AG_ASSIGN_OR_RETURN(agent.remote_tools, CollectRemoteTools(settings, *agent.graph));
  return agent;
}

}  // namespace agent_graph::service
