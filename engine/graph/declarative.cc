#include "graph/declarative.h"

#include <algorithm>
#include <chrono>

#include "agent_graph/json.h"
#include "base/configuration_json.h"
#include "base/json.h"
#include "base/letter_case.h"
#include "graph/condition.h"
#include "graph/definition.h"
#include "graph/live_declaration.h"
#include "graph/object_reader.h"
#include "graph/problems.h"
#include "graph/reducers.h"
#include "graph/tool_declarations.h"

namespace agent_graph::graph {
namespace {

constexpr size_t kNestingMax = 16;
constexpr int64_t kMillisecondsMax = 3'600'000;
constexpr int64_t kMessagesMax = 10'000;
constexpr int64_t kTokensMax = 100'000'000;

struct Branch {
  Condition condition;
  std::string target;
};

std::string ElementPath(const std::string& list, size_t index) {
  return list + "." + std::to_string(index);
}

// Documents write START and END for the two constants.
std::string NodeName(std::string name) {
  if (name == "START") return START;
  if (name == "END") return END;
  return name;
}

class DocumentReader {
 public:
  // `within`: the keys of the enclosing graphs, its own key last.
  DocumentReader(GraphBuilder& builder, const json& document, std::vector<std::string> within)
      : builder_(builder),
        document_(document),
        within_(std::move(within)),
        top_(document.at(within_.back()), within_.back()) {}

  Status Read() {
    AG_RETURN_IF_ERROR(top_.ok() ? Status::Ok() : top_.Finish());
    if (std::string name = top_.Text("name", ""); !name.empty()) builder_.SetName(name);
    top_.Text("description", "");
    AG_RETURN_IF_ERROR(ReadNodes());
    AG_RETURN_IF_ERROR(ReadEdges());
    AG_RETURN_IF_ERROR(ReadFields());
    ReadContext();
    builder_.InterruptBefore(ReadNodeNames("interrupt_before"));
    builder_.InterruptAfter(ReadNodeNames("interrupt_after"));
    return top_.Finish();
  }

 private:
  Status ReadNodes() {
    auto nodes = top_.List("nodes");
    for (size_t i = 0; i < nodes.size(); ++i) {
      AG_RETURN_IF_ERROR(ReadNode(*nodes[i], ElementPath(top_.PathOf("nodes"), i)));
    }
    // Checked after all nodes: agents may name a tool node that is further down.
    for (size_t i = 0; i < nodes.size(); ++i) {
      const NodeKind& kind = builder_.definition().nodes[i].kind;
      const std::string path = ElementPath(top_.PathOf("nodes"), i);
      if (const auto* agent = std::get_if<Agent>(&kind)) CheckToolNode(path, agent->tool_node);
      if (const auto* agent = std::get_if<LiveAgent>(&kind)) {
        CheckToolNode(path, agent->tool_node);
        for (size_t j = 0; j < agent->sub_agents.size(); ++j) {
          CheckNode(top_, ElementPath(path + ".sub_agents", j), agent->sub_agents[j]);
        }
      }
    }
    return top_.ok() ? Status::Ok() : top_.Finish();
  }

  void CheckToolNode(const std::string& path, const std::string& name) {
    if (name.empty()) return;
    CheckNode(top_, path + ".tool_node", name);
    const Node* node = Find(name);
    if (node != nullptr && !std::holds_alternative<ToolNode>(node->kind)) {
      top_.Fail(path + ".tool_node", '"' + name + "\" is not a node of type tools");
    }
  }

  Status ReadNode(const json& value, std::string path) {
    ObjectReader reader(value, std::move(path));
    std::string name = reader.RequiredText("name");
    if (Find(name) != nullptr) {
      reader.Fail(reader.PathOf("name"), "there is another node \"" + name + "\"");
    }
    if (name != NodeName(name)) reader.Fail(reader.PathOf("name"), "START and END are taken");
    std::string type = reader.RequiredText("type");
    if (type == "agent") {
      if (value.contains("tools")) {
        reader.Fail(reader.PathOf("tools"),
                    "list the tools in a node of type tools, and name that node in tool_node");
      }
      ReadAgent(reader, name);
    } else if (type == "tools") {
      ReadToolNode(reader, name);
    } else if (type == "reply") {
      ReadReply(reader, name);
    } else if (type == "graph") {
      AG_RETURN_IF_ERROR(ReadSubgraph(reader, name));
    } else if (type == "live_agent") {
      builder_.AddLiveAgent(name, ReadLiveAgent(reader));
    } else {
      reader.Fail(reader.PathOf("type"), "must be one of agent, tools, reply, graph, live_agent");
    }
    return reader.Finish();
  }

  Status ReadSubgraph(ObjectReader& reader, const std::string& name) {
    const std::string key = reader.RequiredText("graph");
    if (!reader.ok()) return reader.Finish();
    if (!document_.contains(key)) {
      reader.Fail(reader.PathOf("graph"), "there is no graph \"" + key + "\" in the document");
    } else if (std::find(within_.begin(), within_.end(), key) != within_.end()) {
      reader.Fail(reader.PathOf("graph"), "graph \"" + key + "\" would be a part of itself");
    } else if (within_.size() >= kNestingMax) {
      reader.Fail(reader.PathOf("graph"), "graphs lie too deep in each other");
    }
    if (!reader.ok()) return reader.Finish();
    GraphBuilder subgraph;
    std::vector<std::string> within = within_;
    within.push_back(key);
    AG_RETURN_IF_ERROR(DocumentReader(subgraph, document_, std::move(within)).Read());
    builder_.AddSubgraph(name, subgraph);
    return Status::Ok();
  }

  void ReadAgent(ObjectReader& reader, const std::string& name) {
    Agent agent;
    agent.model = reader.Text("model", agent.model);
    agent.system_prompt = reader.Text("system_prompt", "");
    agent.tool_node = reader.Text("tool_node", "");
    agent.tools_tags = reader.TextList("tools_tags");
    agent.parameters_json = reader.ObjectText("parameters");
    agent.stream = reader.Bool("stream", true);
    agent.output_field = reader.Text("output_field", "");
    builder_.AddAgent(name, std::move(agent));
    if (reader.Value("timeout_ms") != nullptr) {
      builder_.SetTimeout(name, ReadMilliseconds(reader, "timeout_ms", {}, 1));
    }
    if (reader.Bool("once", false)) builder_.SetOnce(name);
    if (const json* value = reader.Value("retry")) {
      ObjectReader retry_reader(*value, reader.PathOf("retry"));
      RetryPolicy retry;
      retry.attempts_max = static_cast<int>(retry_reader.Integer("attempts", 3, 1, kAttemptsMax));
      retry.delay = ReadMilliseconds(retry_reader, "delay_ms", retry.delay, 0);
      retry.factor = static_cast<double>(retry_reader.Integer("factor", 2, 1, kAttemptsMax));
      retry.delay_max = ReadMilliseconds(retry_reader, "delay_ms_max", retry.delay_max, 0);
      PassOn(reader, retry_reader);
      builder_.SetRetry(name, retry);
    }
  }

  static std::chrono::milliseconds ReadMilliseconds(ObjectReader& reader, const char* key,
                                                    std::chrono::milliseconds otherwise,
                                                    int64_t minimum) {
    return std::chrono::milliseconds(
        reader.Integer(key, otherwise.count(), minimum, kMillisecondsMax));
  }

  // Reports the first mistake of an inner object to the reader of the outer object.
  static void PassOn(ObjectReader& outer, ObjectReader& inner) {
    const Status status = inner.Finish();
    if (status.ok()) return;
    const size_t colon = status.message().find(": ");  // end of the path
    outer.Fail(status.message().substr(0, colon), status.message().substr(colon + 2));
  }

  void ReadContext() {
    const json* value = top_.Value("context");
    if (value == nullptr) return;
    ObjectReader reader(*value, top_.PathOf("context"));
    ContextPolicy policy;
    policy.messages_max = static_cast<size_t>(reader.Integer("messages_max", 0, 0, kMessagesMax));
    policy.tokens_max = static_cast<size_t>(reader.Integer("tokens_max", 0, 0, kTokensMax));
    policy.summarize = reader.Bool("summarize", false);
    policy.summary_model = reader.Text("summary_model", policy.summary_model);
    policy.summary_prompt = reader.Text("summary_prompt", "");
    if (policy.messages_max == 0 && policy.tokens_max == 0) {
      reader.Fail(reader.path(), "needs messages_max or tokens_max");
    }
    PassOn(top_, reader);
    builder_.SetContext(std::move(policy));
  }

  void ReadToolNode(ObjectReader& reader, const std::string& name) {
    const ToolNode node = ReadTools(reader);
    builder_.AddToolNode(name, node.tools);
    for (const HttpTool& tool : node.http_tools) builder_.AddHttpTool(name, tool);
    for (const McpServer& server : node.mcp_servers) builder_.AddMcpServer(name, server);
    for (const RemoteTool& tool : node.remote_tools) builder_.AddRemoteTool(name, tool);
  }

  // Reads a node without code: it replies with a fixed text, sets fields, rejects calls or pauses.
  void ReadReply(ObjectReader& reader, const std::string& name) {
    NodeResult result;
    if (std::string text = reader.Text("text", ""); !text.empty()) {
      result.Add(Message::Assistant(std::move(text)));
    }
    if (const json* fields = reader.Value("set")) {
      if (!fields->is_object()) reader.Fail(reader.PathOf("set"), "must be an object");
      for (const auto& [field, value] : fields->items()) {
        if (IsBuiltInField(field)) {
          reader.Fail(reader.PathOf("set") + "." + field, "belongs to the state itself");
        }
        result.Set(field, value);
      }
    }
    if (std::string reason = reader.Text("pause", ""); !reason.empty()) result.Pause(reason);
    const std::string rejection = reader.Text("reject_calls", "");
    builder_.AddFunction(
        name,
        [result, rejection](const State& state, RunContext&) {
          return rejection.empty() ? result : RejectCalls(state, rejection, result);
        },
        Execution::kNonBlocking);
    if (reader.Bool("once", false)) builder_.SetOnce(name);
  }

  // First gives the pending calls a failed result with the reason.
  static NodeResult RejectCalls(const State& state, const std::string& reason, NodeResult result) {
    std::vector<Message> messages;
    for (const ToolCallBlock* call : state.PendingToolCalls()) {
      messages.push_back(
          Message::ToolResult(call->id, DumpJson(json{{"error", reason}}), /*is_error=*/true));
    }
    messages.insert(messages.end(), result.messages.begin(), result.messages.end());
    result.messages = std::move(messages);
    return result;
  }

  Status ReadEdges() {
    auto edges = top_.List("edges");
    for (size_t i = 0; i < edges.size(); ++i) {
      const std::string path = ElementPath(top_.PathOf("edges"), i);
      if (!edges[i]->is_object()) {
        top_.Fail(path, R"(must be an object, such as {"from": "START", "to": "MAIN"})");
        return top_.Finish();
      }
      ObjectReader reader(*edges[i], path);
      std::string from = NodeName(reader.RequiredText("from"));
      if (reader.ok() && from != START) CheckNode(reader, reader.PathOf("from"), from);
      if (reader.Value("when") != nullptr) {
        AG_RETURN_IF_ERROR(ReadConditionalEdge(reader, from));
      } else {
        std::string target = ReadTarget(reader, "to");
        CheckHasTools(reader, from, target);
        builder_.AddEdge(from, std::move(target));
      }
      AG_RETURN_IF_ERROR(reader.Finish());
    }
    return Status::Ok();
  }

  Status ReadConditionalEdge(ObjectReader& reader, const std::string& from) {
    std::vector<Branch> branches;
    std::vector<std::string> targets;
    auto list = reader.List("when");
    for (size_t i = 0; i < list.size(); ++i) {
      ObjectReader branch(*list[i], ElementPath(reader.PathOf("when"), i));
      AG_RETURN_IF_ERROR(branch.ok() ? Status::Ok() : branch.Finish());
      Condition condition = ReadCondition(branch);
      std::string target = ReadTarget(branch, "to");
      if (branch.Value("tool_calls_pending") != nullptr) CheckHasTools(branch, from, target);
      AG_RETURN_IF_ERROR(branch.Finish());
      targets.push_back(target);
      branches.push_back({std::move(condition), std::move(target)});
    }
    std::string otherwise = ReadTarget(reader, "otherwise");
    targets.push_back(otherwise);
    builder_.AddConditionalEdge(
        from,
        [branches, otherwise](const State& state) {
          for (const Branch& branch : branches) {
            if (branch.condition(state)) return branch.target;
          }
          return otherwise;
        },
        std::move(targets));
    return Status::Ok();
  }

  // Checks that an agent with an edge to a node of tools, for its tool calls or always, knows those
  // tools. Otherwise it never calls one.
  void CheckHasTools(ObjectReader& branch, const std::string& from, const std::string& target) {
    const Node* source = Find(from);
    const auto* agent = source == nullptr ? nullptr : std::get_if<Agent>(&source->kind);
    const Node* tools = Find(target);
    if (agent == nullptr || !agent->tool_node.empty() || tools == nullptr ||
        !std::holds_alternative<ToolNode>(tools->kind)) {
      return;
    }
    branch.Fail(
        branch.PathOf("to"),
        "the node \"" + from + "\" knows no tools: it needs \"tool_node\": \"" + target + '"');
  }

  std::string ReadTarget(ObjectReader& reader, const char* key) {
    std::string target = NodeName(reader.RequiredText(key));
    if (reader.ok() && target != END) CheckNode(reader, reader.PathOf(key), target);
    return target;
  }

  Status ReadFields() {
    const json* fields = top_.Value("fields");
    if (fields == nullptr) return Status::Ok();
    if (!fields->is_object()) top_.Fail(top_.PathOf("fields"), "must be an object");
    if (!top_.ok()) return top_.Finish();
    for (const auto& [name, value] : fields->items()) {
      ObjectReader reader(value, top_.PathOf("fields") + "." + name);
      if (IsBuiltInField(name)) reader.Fail(reader.path(), "the name belongs to the state itself");
      StateField field{.name = name};
      if (const auto reducer = FindReducer(reader.Text("reducer", "replace"))) {
        field.reducer = *reducer;
      } else {
        reader.Fail(reader.PathOf("reducer"), "must be one of " + JoinNames(ReducerNames()));
      }
      if (const json* preset = reader.Value("default")) {
        field.default_json = DumpJson(*preset);
        if (!FitsReducer(field.reducer, *preset)) {
          reader.Fail(reader.PathOf("default"),
                      "must be of type " + std::string(ValueTypeOf(field.reducer)));
        }
      }
      field.schema_json = reader.ObjectText("schema");
      AG_RETURN_IF_ERROR(reader.Finish());
      builder_.AddField(std::move(field));
    }
    return Status::Ok();
  }

  std::vector<std::string> ReadNodeNames(const char* key) {
    std::vector<std::string> names = top_.TextList(key);
    for (size_t i = 0; i < names.size(); ++i) {
      CheckNode(top_, ElementPath(top_.PathOf(key), i), names[i]);
    }
    return names;
  }

  const Node* Find(const std::string& name) const {
    for (const Node& node : builder_.definition().nodes) {
      if (node.name == name) return &node;
    }
    return nullptr;
  }

  void CheckNode(ObjectReader& reader, const std::string& path, const std::string& name) const {
    if (Find(name) != nullptr) return;
    const bool is_mark = EqualsIgnoringCase(name, "start") || EqualsIgnoringCase(name, "end");
    reader.Fail(path, "there is no node \"" + name + '"' +
                          (is_mark ? "; START and END are written in capitals" : ""));
  }

  GraphBuilder& builder_;
  const json& document_;
  const std::vector<std::string> within_;
  ObjectReader top_;
};

}  // namespace

Status ReadDocument(std::string_view text, const std::string& attribute, GraphBuilder& builder) {
  auto document = ParseConfigurationJson(text);
  if (!document.ok()) {
    return Status(StatusCode::kGraph, document.status().message())
        .WithDetail(document.status().detail());
  }
  if (!document->is_object()) return Status(StatusCode::kGraph, "must be a JSON object");
  auto graph = document->find(attribute);
  if (graph == document->end()) {
    if (document->contains("nodes") && document->contains("edges")) {
      return Status(StatusCode::kGraph, "the graph needs a name: {\"" + attribute + "\": {...}}");
    }
    std::vector<std::string> names;
    for (const auto& [key, value] : document->items()) {
      if (!key.starts_with('$')) names.push_back(key);
    }
    return Status(StatusCode::kGraph,
                  "there is no graph \"" + attribute + "\"; the document has: " + JoinNames(names));
  }
  return DocumentReader(builder, *document, {attribute}).Read();
}

}  // namespace agent_graph::graph
