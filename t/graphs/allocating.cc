// User code that allocates memory: one export for each kind of function.
#include <agent_graph/agent_graph.h>
#include <agent_graph/auth.h>

#include <agent_graph/json.h>
#include <string>
#include <vector>

using namespace agent_graph;

namespace {

constexpr size_t kTextBytes = 1000;

// Allocates until it fails; never returns.
void AllocateWithoutEnd() {
  std::vector<std::string> texts;
  for (;;) texts.emplace_back(kTextBytes, 'x');
}

void AllocateHuge() {
  std::vector<char> block(size_t{1} << 40);
  block.back() = 'x';
}

// The destructor of a JSON value allocates, too; allocations in destructors must not fail.
void AllocateJson() {
  json values = json::array();
  for (;;) values.push_back({std::string(kTextBytes, 'x'), {{"key", json::array({1})}}});
}

void AllocateAs(const std::string& wish) {
  if (wish == "without end") AllocateWithoutEnd();
  if (wish == "huge") AllocateHuge();
  if (wish == "json") AllocateJson();
}

NodeResult Allocate(const State& state, RunContext&) {
  AllocateAs(state.LastUserText());
  return Message::Assistant("modest");
}

// Allocates more in total than it may hold at once.
NodeResult Churn(const State&, RunContext&) {
  size_t bytes = 0;
  for (int i = 0; i < 1000; ++i) bytes += std::vector<char>(1'000'000).size();
  return Message::Assistant(std::to_string(bytes));
}

void BuildBlocking(GraphBuilder& graph) {
  graph.AddFunction("ALLOCATE", Allocate).AddEdge(START, "ALLOCATE");
}

void BuildNonBlocking(GraphBuilder& graph) {
  graph.AddFunction("ALLOCATE", Allocate, Execution::kNonBlocking).AddEdge(START, "ALLOCATE");
}

void BuildChurn(GraphBuilder& graph) {
  graph.AddFunction("CHURN", Churn).AddEdge(START, "CHURN");
}

void BuildPredicate(GraphBuilder& graph) {
  graph.AddFunction(
      "MAIN", [](const State&, RunContext&) -> NodeResult { return Message::Assistant("modest"); });
  graph.AddEdge(START, "MAIN");
  graph.AddConditionalEdge("MAIN",
                           [](const State& state) {
                             AllocateAs(state.LastUserText());
                             return std::string(END);
                           },
                           {END});
}

void BuildReducer(GraphBuilder& graph) {
  graph.AddField(
      {.name = "wish", .reducer = Reducer::kCustom, .custom = [](const json&, const json& update) {
         AllocateAs(update.get<std::string>());
         return update;
       }});
  graph.AddFunction("MAIN", [](const State& state, RunContext&) {
    return NodeResult(Message::Assistant("modest")).Set("wish", state.LastUserText());
  });
  graph.AddEdge(START, "MAIN");
}

void BuildTool(GraphBuilder& graph) {
  graph.AddFunction("ASK", [](const State& state, RunContext&) -> NodeResult {
    Message message;
    message.role = Role::kAssistant;
    message.content.emplace_back(
        ToolCallBlock{"call-1", "allocate", json{{"wish", state.LastUserText()}}.dump()});
    return message;
  });
  graph.AddToolNode(
      "TOOLS", {{.name = "allocate",
                 .description = "Allocates.",
                 .parameters_json = R"({"type":"object","properties":{"wish":{"type":"string"}}})",
                 .function = [](const json& arguments, ToolContext&) -> ToolOutput {
                   AllocateAs(arguments.at("wish"));
                   return json("modest");
                 }}});
  graph.AddEdge(START, "ASK").AddEdge("ASK", "TOOLS").AddEdge("TOOLS", END);
}

class AllocatingAuthentication : public AuthenticationBackend {
 public:
  json Authenticate(const AuthRequest& request, AuthResponse&,
                    const std::optional<std::string>&) override {
    AllocateAs(std::string(request.Header("x-authentication")));
    return {{"user_id", "alice"}, {"wish", std::string(request.Header("x-authorization"))}};
  }
};

class AllocatingAuthorization : public AuthorizationBackend {
 public:
  bool Authorize(const json& user, const std::string&, const std::string&,
                 const std::optional<std::string>&, const json&) override {
    AllocateAs(user.value("wish", ""));
    return true;
  }
  void Evict(const std::string& thread_id) override { AllocateAs(thread_id); }
  void Close() override { AllocateHuge(); }
};

}  // namespace

AGENT_GRAPH_EXPORT_AUTHENTICATION(authentication, AllocatingAuthentication)
AGENT_GRAPH_EXPORT_AUTHORIZATION(authorization, AllocatingAuthorization)
AGENT_GRAPH_EXPORT(blocking, BuildBlocking)
AGENT_GRAPH_EXPORT(non_blocking, BuildNonBlocking)
AGENT_GRAPH_EXPORT(churn, BuildChurn)
AGENT_GRAPH_EXPORT(predicate, BuildPredicate)
AGENT_GRAPH_EXPORT(reducer, BuildReducer)
AGENT_GRAPH_EXPORT(tool, BuildTool)
