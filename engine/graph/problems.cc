#include "graph/problems.h"

#include <algorithm>
#include <map>
#include <set>

#include "agent_graph/json.h"
#include "base/json.h"
#include "graph/flatten.h"
#include "graph/live_problems.h"
#include "graph/reducers.h"
#include "tools/http/http_tool.h"
#include "tools/mcp/oauth/settings.h"
#include "tools/mcp/protocol/revisions.h"

namespace agent_graph::graph {
namespace {

constexpr size_t kNameBytesMax = 128;
constexpr size_t kToolNameBytesMax = 64;  // limit of the model providers

bool IsJsonOfType(const std::string& text, json::value_t type) {
  auto value = ParseJson(text);
  return value.ok() && value->type() == type;
}

bool IsToolName(const std::string& name) {
  return !name.empty() && name.size() <= kToolNameBytesMax &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-';
         });
}

std::string Quote(const std::string& name) {
  if (name == START) return "START";
  if (name == END) return "END";
  return '"' + name + '"';
}

class Inspector {
 public:
  explicit Inspector(const GraphDefinition& definition) : definition_(definition) {}

  std::vector<std::string> Run() {
    problems_ = definition_.mistakes;
    CheckNodes();
    CheckEdges();
    CheckGoTo();
    if (problems_.empty()) CheckLiveAgents(definition_, problems_);
    if (problems_.empty()) CheckReachable();  // otherwise it would repeat the problems above
    CheckFields();
    CheckContext();
    CheckInterrupts("interrupt_before", definition_.interrupt_before);
    CheckInterrupts("interrupt_after", definition_.interrupt_after);
    return std::move(problems_);
  }

 private:
  void Add(std::string problem) { problems_.push_back(std::move(problem)); }

  const Node* Find(const std::string& name) const {
    auto found = nodes_.find(name);
    return found == nodes_.end() ? nullptr : found->second;
  }

  void CheckNodes() {
    if (definition_.nodes.empty()) Add("the graph has no nodes");
    for (const Node& node : definition_.nodes) {
      if (node.name.empty() || node.name.size() > kNameBytesMax) {
        Add("a node's name must have 1 to 128 bytes");
      } else if (node.name.find(kPathSeparator) != std::string::npos) {
        Add("node " + Quote(node.name) + ": a name holds no /, which stands in paths of subgraphs");
      } else if (node.name == START || node.name == END) {
        Add("no node may be named " + node.name);
      } else if (!nodes_.emplace(node.name, &node).second) {
        Add("two nodes are named " + Quote(node.name));
      }
    }
    for (const Node& node : definition_.nodes) {
      const std::string where = "node " + Quote(node.name);
      std::visit([&](const auto& kind) { CheckKind(where, kind); }, node.kind);
      CheckAttempts(where, node);
    }
  }

  void CheckKind(const std::string& where, const FunctionNode& node) {
    if (!node.function) Add(where + " has no function");
    if (node.timeout.count() <= 0) Add(where + ": the timeout must be positive");
  }

  void CheckAttempts(const std::string& where, const Node& node) {
    const RetryPolicy& retry = node.retry;
    if (retry.attempts_max < 1 || retry.attempts_max > kAttemptsMax) {
      Add(where + ": a retry policy has 1 to " + std::to_string(kAttemptsMax) + " attempts");
    }
    if (retry.delay.count() < 0 || retry.delay_max.count() < 0 || !(retry.factor >= 1)) {
      Add(where + ": delays of a retry policy are not negative and do not shrink");
    }
    const bool repeats =
        std::holds_alternative<Agent>(node.kind) || std::holds_alternative<FunctionNode>(node.kind);
    const bool runs_once =
        std::holds_alternative<ToolNode>(node.kind) || std::holds_alternative<Subgraph>(node.kind);
    if (retry.attempts_max > 1 && runs_once) {
      Add(where + ": only agents and functions are tried again");
    }
    if (node.once && !repeats) Add(where + ": only agents and functions can be marked once");
    if (node.timeout.count() < 0) Add(where + ": the timeout must be positive");
    if (node.timeout.count() > 0 && std::holds_alternative<Subgraph>(node.kind)) {
      Add(where + ": a subgraph's nodes have timeouts, not the subgraph");
    }
  }

  void CheckKind(const std::string& where, const Subgraph& subgraph) {
    const std::string prefix = where + ": ";
    for (const std::string& problem : FindProblems(*subgraph.definition)) Add(prefix + problem);
    if (subgraph.definition->context)
      Add(where + ": only the outermost graph has a context policy");
  }

  void CheckContext() {
    if (!definition_.context) return;
    const ContextPolicy& policy = *definition_.context;
    if (policy.messages_max == 0 && policy.tokens_max == 0) {
      Add("the context policy has no limit: set messages_max or tokens_max");
    }
    if (policy.summarize && policy.summary_model.empty()) {
      Add("the context policy has no model for summaries");
    }
  }

  void CheckKind(const std::string& where, const Agent& agent) {
    if (agent.model.empty()) Add(where + ": the agent has no model");
    if (!IsJsonOfType(agent.parameters_json, json::value_t::object)) {
      Add(where + ": the parameters are not a JSON object");
    }
    if (IsBuiltInField(agent.output_field)) {
      Add(where + ": the output field belongs to the state itself");
    }
    if (!agent.output_field.empty() && !agent.tool_node.empty()) {
      Add(where + ": an agent whose reply goes into a field has no tools");
    }
    CheckToolNode(where, agent.tool_node);
  }

  void CheckToolNode(const std::string& where, const std::string& name) {
    if (name.empty()) return;
    const Node* tool_node = Find(name);
    if (tool_node == nullptr) {
      Add(where + ": there is no tool node " + Quote(name));
    } else if (!std::holds_alternative<ToolNode>(tool_node->kind)) {
      Add(where + ": node " + Quote(name) + " is not a tool node");
    }
  }

  void CheckKind(const std::string& where, const LiveAgent& agent) {
    if (agent.model.empty()) Add(where + ": the live agent has no model");
    if (!IsJsonOfType(agent.parameters_json, json::value_t::object)) {
      Add(where + ": the parameters are not a JSON object");
    }
    CheckToolNode(where, agent.tool_node);
    for (const std::string& name : agent.sub_agents) {
      const Node* sub_agent = Find(name);
      if (sub_agent == nullptr || !std::holds_alternative<LiveAgent>(sub_agent->kind)) {
        Add(where + ": there is no live agent " + Quote(name));
      }
    }
    const std::string prefix = where + ": ";
    for (const std::string& problem : VoiceActivityProblems(agent.vad)) Add(prefix + problem);
  }

  void CheckKind(const std::string& where, const ToolNode& node) {
    std::set<std::string> names;
    for (const Tool& tool : node.tools) {
      std::string tool_where = where + ", tool " + Quote(tool.name);
      if (!IsToolName(tool.name)) {
        Add(tool_where + ": a tool's name must be 1 to 64 letters, digits, _ or -");
      }
      if (!names.insert(tool.name).second) Add(tool_where + " is there twice");
      if (!tool.function) Add(tool_where + " has no function");
      CheckParameters(tool_where, tool.parameters_json);
      if (tool.timeout.count() <= 0) Add(tool_where + ": the timeout must be positive");
    }
    for (const HttpTool& tool : node.http_tools) {
      std::string tool_where = where + ", tool " + Quote(tool.name);
      if (!IsToolName(tool.name)) {
        Add(tool_where + ": a tool's name must be 1 to 64 letters, digits, _ or -");
      }
      if (!names.insert(tool.name).second) Add(tool_where + " is there twice");
      if (Status status = tools::CheckHttpTool(tool); !status.ok()) {
        Add(tool_where + ": " + status.message());
      } else {
        CheckParameters(tool_where, tool.parameters_json);
      }
    }
    CheckServers(where, node.mcp_servers);
    for (const RemoteTool& tool : node.remote_tools) {
      std::string tool_where = where + ", remote tool " + Quote(tool.name);
      if (!IsToolName(tool.name)) {
        Add(tool_where + ": a tool's name must be 1 to 64 letters, digits, _ or -");
      }
      if (!names.insert(tool.name).second) Add(tool_where + " is there twice");
      CheckParameters(tool_where, tool.parameters_json);
    }
  }

  void CheckParameters(const std::string& where, const std::string& schema) {
    if (!IsJsonOfType(schema, json::value_t::object)) {
      Add(where + ": the parameters are not a JSON object");
    } else if (Status status = tools::JsonSchema::CompileParameters(schema).status();
               !status.ok()) {
      Add(where + ": the parameters cannot be used: " + status.message());
    }
  }

  void CheckServers(const std::string& where, const std::vector<McpServer>& servers) {
    std::set<std::string> names;
    for (const McpServer& server : servers) {
      std::string server_where = where + ", MCP server " + Quote(server.name);
      if (server.name.empty()) Add(server_where + ": a server needs a name");
      if (!names.insert(server.name).second) Add(server_where + " is there twice");
      if (server.url.empty() == server.command.empty()) {
        Add(server_where + " needs either a URL or a command");
      }
      if (!server.directory.starts_with('/'))
        Add(server_where + ": the directory must be absolute");
      if (!server.prefix.empty() && !IsToolName(server.prefix)) {
        Add(server_where + ": the prefix must be letters, digits, _ or -");
      }
      if (!tools::mcp::ErasOf(server.protocol)) {
        Add(server_where + ": the protocol must be auto, 2026-07-28 or 2025-11-25");
      }
      if (Status status = tools::mcp::oauth::CheckOAuth(server); !status.ok()) {
        Add(server_where + ": oauth." + status.message());
      }
      if (server.timeout.count() <= 0 || server.discovery_timeout.count() <= 0 ||
          server.refresh.count() <= 0) {
        Add(server_where + ": timeouts must be positive");
      }
    }
  }

  void CheckTarget(const std::string& where, const std::string& target) {
    if (target == START) {
      Add(where + ": nothing leads back to START");
    } else if (target != END && Find(target) == nullptr) {
      Add(where + ": there is no node " + Quote(target));
    }
  }

  void CheckEdges() {
    std::set<std::string> sources;
    for (const OutgoingEdge& edge : definition_.edges) {
      std::string where = "the edge from " + Quote(edge.from);
      if (edge.from == END) {
        Add("no edge leaves END");
      } else if (edge.from != START && Find(edge.from) == nullptr) {
        Add(where + ": there is no node " + Quote(edge.from));
      } else if (!sources.insert(edge.from).second) {
        Add("two edges leave " + Quote(edge.from) + ": use one conditional edge");
      }
      if (edge.conditional && !edge.predicate) Add(where + " has no predicate");
      if (edge.targets.empty()) Add(where + " has no targets");
      for (const std::string& target : edge.targets) CheckTarget(where, target);
    }
    if (!sources.contains(START)) Add("no edge leaves START");
  }

  void CheckGoTo() {
    for (const OutgoingEdge& jump : definition_.go_to) {
      std::string where = "the goto from " + Quote(jump.from);
      const Node* node = Find(jump.from);
      if (node == nullptr) {
        Add(where + ": there is no node " + Quote(jump.from));
      } else if (!std::holds_alternative<FunctionNode>(node->kind)) {
        Add(where + ": only function nodes jump");
      }
      for (const std::string& target : jump.targets) CheckTarget(where, target);
    }
  }

  void CheckReachable() {
    std::map<std::string, std::vector<std::string>> next;
    for (const auto* edges : {&definition_.edges, &definition_.go_to}) {
      for (const OutgoingEdge& edge : *edges) {
        auto& targets = next[edge.from];
        targets.insert(targets.end(), edge.targets.begin(), edge.targets.end());
      }
    }
    for (const Node& node : definition_.nodes) {
      const auto* agent = std::get_if<LiveAgent>(&node.kind);
      if (agent == nullptr) continue;
      auto& targets = next[node.name];
      targets.insert(targets.end(), agent->sub_agents.begin(), agent->sub_agents.end());
      if (!agent->tool_node.empty()) targets.push_back(agent->tool_node);
    }
    std::set<std::string> seen = {START};
    std::vector<std::string> open = {START};
    while (!open.empty()) {
      std::string name = std::move(open.back());
      open.pop_back();
      for (const std::string& target : next[name]) {
        if (seen.insert(target).second) open.push_back(target);
      }
    }
    for (const Node& node : definition_.nodes) {
      if (seen.contains(node.name)) continue;
      Add("node " + Quote(node.name) + " cannot be reached: no edges lead to it from START");
    }
  }

  void CheckFields() {
    std::set<std::string> names;
    for (const StateField& field : definition_.fields) {
      std::string where = "state field " + Quote(field.name);
      if (field.name.empty() || field.name.size() > kNameBytesMax) {
        Add("a state field's name must have 1 to 128 bytes");
      } else if (IsBuiltInField(field.name)) {
        Add(where + ": the name belongs to the state itself");
      } else if (!names.insert(field.name).second) {
        Add(where + " is there twice");
      }
      if (field.reducer == Reducer::kCustom && !field.custom) Add(where + " has no reducer");
      auto value = ParseJson(field.default_json);
      if (!value.ok()) {
        Add(where + ": the default is not JSON");
      } else if (!value->is_null() && !FitsReducer(field.reducer, *value)) {
        Add(where + ": with its reducer the default must be of type " +
            std::string(ValueTypeOf(field.reducer)));
      }
      if (!IsJsonOfType(field.schema_json, json::value_t::object)) {
        Add(where + ": the schema is not a JSON object");
      }
    }
  }

  void CheckInterrupts(const std::string& list, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      const Node* node = Find(name);
      if (node == nullptr) Add(list + ": there is no node " + Quote(name));
      if (node != nullptr && std::holds_alternative<Subgraph>(node->kind)) {
        Add(list + ": node " + Quote(name) + " is a subgraph, which names its own interrupts");
      }
    }
  }

  const GraphDefinition& definition_;
  std::map<std::string, const Node*> nodes_;
  std::vector<std::string> problems_;
};

}  // namespace

const Tool* ToolNode::Find(std::string_view name) const {
  auto found =
      std::find_if(tools.begin(), tools.end(), [&](const Tool& tool) { return tool.name == name; });
  return found == tools.end() ? nullptr : &*found;
}

bool IsBuiltInField(std::string_view name) {
  return std::find(std::begin(kBuiltInFields), std::end(kBuiltInFields), name) !=
         std::end(kBuiltInFields);
}

std::vector<std::string> FindProblems(const GraphDefinition& definition) {
  return Inspector(definition).Run();
}

}  // namespace agent_graph::graph
