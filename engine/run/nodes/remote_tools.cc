#include "run/nodes/remote_tools.h"

#include <algorithm>
#include <set>
#include <utility>

#include "state/service.h"

namespace agent_graph::run {
namespace {

constexpr size_t kToolNameBytesMax = 64;  // limit of model providers

bool IsToolName(std::string_view name) {
  return !name.empty() && name.size() <= kToolNameBytesMax &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-';
         });
}

// `Remote` is a RemoteTool of the state or a ClientTool.
template <typename Remote>
tools::CatalogToolPtr MakeTool(const Remote& remote) {
  auto entry = std::make_shared<tools::CatalogTool>();
  entry->tool.name = remote.name;
  entry->tool.description = remote.description;
  entry->tool.parameters_json = remote.parameters_json;
  entry->origin = tools::ToolOrigin::kRemote;
  if (auto schema = tools::JsonSchema::Compile(remote.parameters_json); schema.ok()) {
    entry->schema = *std::move(schema);
  }
  return entry;
}

bool HasOwnTool(const graph::ToolNode& node, const std::string& name) {
  return node.Find(name) != nullptr ||
         std::any_of(node.http_tools.begin(), node.http_tools.end(),
                     [&](const HttpTool& tool) { return tool.name == name; });
}

// The problems that do not depend on the graph.
template <typename Remote>
std::optional<RemoteToolProblem> FindOwnProblem(const Remote& tool) {
  if (tool.description.size() > kRemoteToolDescriptionBytesMax) {
    return RemoteToolProblem{
        "description",
        "must have at most " + std::to_string(kRemoteToolDescriptionBytesMax) + " bytes"};
  }
  if (tool.parameters_json.size() > kRemoteToolSchemaBytesMax) {
    return RemoteToolProblem{
        "parameters", "must have at most " + std::to_string(kRemoteToolSchemaBytesMax) + " bytes"};
  }
  const Status schema = tools::JsonSchema::CompileParameters(tool.parameters_json).status();
  if (!schema.ok()) return RemoteToolProblem{"parameters", schema.message()};
  return std::nullopt;
}

constexpr char kToolNameRule[] = "must be 1 to 64 letters, digits, _ or -";

}  // namespace

RemoteToolSet::RemoteToolSet(const graph::CompiledGraph& graph,
                             const std::vector<ClientTool>& client_tools)
    : has_all_tags_(true) {
  for (const ClientTool& tool : client_tools) {
    const tools::CatalogToolPtr entry = MakeTool(tool);
    nodes_[""].push_back(entry);
    for (const graph::Node& node : graph.nodes()) {
      const auto* own = std::get_if<graph::ToolNode>(&node.kind);
      if (own != nullptr && !HasOwnTool(*own, tool.name)) nodes_[node.name].push_back(entry);
    }
  }
}

RemoteToolSetPtr ClientToolSet(const graph::CompiledGraph& graph,
                               const std::vector<ClientTool>& tools) {
  return std::make_shared<const RemoteToolSet>(graph, tools);
}

RemoteToolSet::RemoteToolSet(const std::vector<state::RemoteTool>& remote_tools) {
  for (const state::RemoteTool& remote : remote_tools) {
    nodes_[remote.node].push_back(MakeTool(remote));
  }
}

const tools::ToolList& RemoteToolSet::Of(std::string_view node) const {
  static const auto* const kNone = new tools::ToolList;
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? *kNone : found->second;
}

std::vector<state::RemoteTool> DeclaredRemoteTools(const graph::CompiledGraph& graph) {
  std::vector<state::RemoteTool> declared;
  for (const graph::Node& node : graph.nodes()) {
    const auto* tools = std::get_if<graph::ToolNode>(&node.kind);
    if (tools == nullptr) continue;
    for (const RemoteTool& tool : tools->remote_tools) {
      declared.push_back({node.name, tool.name, tool.description, tool.parameters_json});
    }
  }
  return declared;
}

std::optional<RemoteToolProblem> FindProblem(const graph::CompiledGraph& graph,
                                             const state::RemoteTool& tool) {
  const graph::Node* node = graph.FindNode(tool.node);
  if (node == nullptr) return RemoteToolProblem{"node", "there is no node \"" + tool.node + "\""};
  const auto* tools = std::get_if<graph::ToolNode>(&node->kind);
  if (tools == nullptr) return RemoteToolProblem{"node", "\"" + tool.node + "\" is no tool node"};
  if (!IsToolName(tool.name)) return RemoteToolProblem{"name", kToolNameRule};
  if (HasOwnTool(*tools, tool.name)) {
    return RemoteToolProblem{"name", "the node has a tool of its own of that name"};
  }
  return FindOwnProblem(tool);
}

std::optional<RemoteToolProblem> FindClientToolProblem(const graph::CompiledGraph& graph,
                                                       const ClientTool& tool) {
  if (!IsToolName(tool.name)) return RemoteToolProblem{"name", kToolNameRule};
  for (const graph::Node& node : graph.nodes()) {
    const auto* own = std::get_if<graph::ToolNode>(&node.kind);
    if (own != nullptr && HasOwnTool(*own, tool.name)) {
      return RemoteToolProblem{"name", "the agent has a tool of its own of that name"};
    }
  }
  return FindOwnProblem(tool);
}

RemoteTools::RemoteTools(std::vector<state::RemoteTool> declared, state::Service* state,
                         std::string generation, LogFunction log)
    : declared_(std::move(declared)),
      state_(state),
      generation_(std::move(generation)),
      log_(std::move(log)),
      current_(std::make_shared<RemoteToolSet>(declared_)) {}

RemoteToolSetPtr RemoteTools::AsOf(uint64_t version) {
  {
    MutexLock lock(mutex_);
    if (version <= version_ || state_ == nullptr) return current_;
  }
  Result<RemoteToolSetPtr> read = Read();
  if (read.ok()) return *std::move(read);
  if (log_) {
    log_(LogLevel::kWarning, "the remote tools cannot be read: " + read.status().ToString());
  }
  MutexLock lock(mutex_);
  return current_;
}

Result<RemoteToolSetPtr> RemoteTools::Newest() {
  if (state_ != nullptr) return Read();
  MutexLock lock(mutex_);
  return current_;
}

Result<RemoteToolSetPtr> RemoteTools::Read() {
  AG_ASSIGN_OR_RETURN(const state::RemoteTools stored, state_->GetRemoteTools());
  std::vector<state::RemoteTool> remote_tools;
  // Tools registered with an earlier nginx instance are no longer valid.
  if (stored.generation == generation_) remote_tools = stored.tools;
  std::set<std::string_view> set_up;
  for (const state::RemoteTool& tool : remote_tools) set_up.insert(tool.node);
  std::vector<state::RemoteTool> rest;
  for (const state::RemoteTool& tool : declared_) {
    if (!set_up.contains(tool.node)) rest.push_back(tool);
  }
  remote_tools.insert(remote_tools.end(), rest.begin(), rest.end());
  auto set = std::make_shared<const RemoteToolSet>(remote_tools);
  MutexLock lock(mutex_);
  if (stored.version < version_) return current_;
  version_ = stored.version;
  current_ = std::move(set);
  return current_;
}

Status RemoteTools::SetUp(std::vector<state::RemoteTool> tools) {
  if (state_ == nullptr) {
    return Status(StatusCode::kNotConfigured,
                  "checkpointer not configured: calls of remote tools are kept there");
  }
  return state_->ReplaceRemoteTools({generation_, std::move(tools)});
}

}  // namespace agent_graph::run
