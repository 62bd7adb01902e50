// Graphs in JSON: mistakes, conditions, replies, fields.
#include <gtest/gtest.h>

#include <fstream>

#include "agent_graph/json.h"
#include "graph/load.h"
#include "load_fixture.h"
#include "tools/local/builtin.h"

namespace agent_graph::graph {
namespace {

std::string DocumentProblem(const std::string& graph) {
  TemporaryFile file(".json", R"({"app":)" + graph + "}");
  return Problem(file.path(), "app");
}

constexpr char kNodes[] = R"("nodes":[{"name":"A","type":"agent"},{"name":"B","type":"reply"}])";

std::string WithEdges(const std::string& edges) {
  return "{" + std::string(kNodes) + R"(,"edges":[)" + edges + "]}";
}

std::string WithNode(const std::string& node) {
  return R"({"nodes":[)" + node + R"(],"edges":[{"from":"START","to":"A"}]})";
}

std::string WithKey(const std::string& member) {
  return R"({"nodes":[{"name":"A","type":"agent"}],"edges":[{"from":"START","to":"A"}],)" + member +
         "}";
}

struct DocumentMistake {
  std::string graph;
  std::string problem;
};

class DocumentMistakeTest : public testing::TestWithParam<DocumentMistake> {};

TEST_P(DocumentMistakeTest, NamesThePath) {
  EXPECT_EQ(DocumentProblem(GetParam().graph), GetParam().problem);
}

INSTANTIATE_TEST_SUITE_P(
    Declarative, DocumentMistakeTest,
    testing::Values(
        DocumentMistake{"[]", "app: must be an object"},
        DocumentMistake{"{}", "app: the graph has no nodes; no edge leaves START"},
        DocumentMistake{R"({"nodes":{}})", "app.nodes: must be an array"},
        DocumentMistake{WithNode("5"), "app.nodes.0: must be an object"},
        DocumentMistake{WithNode(R"({"type":"agent"})"), "app.nodes.0.name: is required"},
        DocumentMistake{WithNode(R"({"name":"A","type":"robot"})"),
                        "app.nodes.0.type: must be one of agent, tools, reply, graph, live_agent"},
        DocumentMistake{
            WithNode(R"({"name":"A","type":"agent","promt":"x"})"),
            "app.nodes.0.promt: unknown key; valid keys: model, name, once, output_field, "
            "parameters, retry, stream, system_prompt, timeout_ms, tool_node, tools_tags, type"},
        DocumentMistake{WithNode(R"({"name":"A","type":"agent","model":7})"),
                        "app.nodes.0.model: must be a string"},
        DocumentMistake{WithNode(R"({"name":"A","type":"agent","stream":"yes"})"),
                        "app.nodes.0.stream: must be true or false"},
        DocumentMistake{WithNode(R"({"name":"A","type":"agent","parameters":[]})"),
                        "app.nodes.0.parameters: must be an object"},
        DocumentMistake{WithNode(R"({"name":"A","type":"agent","tool_node":"T"})"),
                        "app.nodes.0.tool_node: there is no node \"T\""},
        DocumentMistake{WithNode(R"({"name":"A","type":"agent","tool_node":"A"})"),
                        "app.nodes.0.tool_node: \"A\" is not a node of type tools"},
        DocumentMistake{WithNode(R"({"name":"A","type":"tools","tools":["rm"]})"),
                        "app.nodes.0.tools.0: there is no tool \"rm\"; valid names: calculator, "
                        "current_time, remember, recall"},
        DocumentMistake{WithNode(R"({"name":"A","type":"tools","tools":[1]})"),
                        "app.nodes.0.tools.0: must be the name of a built-in tool, or an object"},
        DocumentMistake{WithNode(R"({"name":"A","type":"tools","tools":[{"name":"t"}]})"),
                        "app.nodes.0.tools.0.url: is required"},
        DocumentMistake{WithNode(R"({"name":"A","type":"tools","tools":[
                                      {"name":"t","url":"http://h/{x}"}]})"),
                        "app.nodes.0.tools.0.url: the argument {x} is not among the parameters' "
                        "properties"},
        DocumentMistake{WithNode(R"({"name":"A","type":"tools","tools":[
                                      {"name":"t","url":"http://h/","timeout_ms":0}]})"),
                        "app.nodes.0.tools.0.timeout_ms: must be an integer from 1 to 3600000"},
        DocumentMistake{WithNode(R"({"name":"A","type":"tools","tools":[
                                      {"name":"t","url":"http://h/","headers":{"A":1}}]})"),
                        "app.nodes.0.tools.0.headers.A: must be a string"},
        DocumentMistake{WithNode(R"({"name":"A","type":"tools","mcp_servers":[
                                      {"name":"m","uri":"http://h/"}]})"),
                        "app.nodes.0.mcp_servers.0: needs either a url or a command"},
        DocumentMistake{WithNode(R"({"name":"A","type":"tools","mcp_servers":[
                                      {"name":"m","url":"http://h/","elicitation":"yes"}]})"),
                        "app.nodes.0.mcp_servers.0.elicitation: must be ask, repeat or decline"},
        DocumentMistake{WithNode(R"({"name":"A","type":"tools","mcp_servers":[
                                      {"name":"m","command":"/m","session_per_call":true}]})"),
                        "app.nodes.0.mcp_servers.0.session_per_call: needs a url"},
        DocumentMistake{WithNode(R"({"name":"A","type":"reply","set":{"context":[]}})"),
                        "app.nodes.0.set.context: belongs to the state itself"},
        DocumentMistake{WithNode(R"({"name":"A","type":"reply"},{"name":"A","type":"reply"})"),
                        "app.nodes.1.name: there is another node \"A\""},
        DocumentMistake{WithNode(R"({"name":"END","type":"reply"})"),
                        "app.nodes.0.name: START and END are taken"},
        DocumentMistake{WithEdges(R"({"from":"START","to":"Z"})"),
                        "app.edges.0.to: there is no node \"Z\""},
        DocumentMistake{WithEdges(R"({"from":"Z","to":"A"})"),
                        "app.edges.0.from: there is no node \"Z\""},
        DocumentMistake{WithEdges(R"({"from":"START"})"), "app.edges.0.to: is required"},
        DocumentMistake{WithEdges(R"({"from":"START","when":[]})"),
                        "app.edges.0.otherwise: is required"},
        DocumentMistake{WithEdges(R"({"from":"START","when":[7],"otherwise":"A"})"),
                        "app.edges.0.when.0: must be an object"},
        DocumentMistake{
            WithEdges(R"({"from":"START","when":[{"to":"B"}],"otherwise":"A"})"),
            "app.edges.0.when.0: needs one of tool_calls_pending, field, last_text_contains"},
        DocumentMistake{WithEdges(R"({"from":"START","when":[{"field":"x","to":"B"}],
                                      "otherwise":"A"})"),
                        "app.edges.0.when.0: a field needs one of equals, not_equals, above, "
                        "below, contains, exists"},
        DocumentMistake{WithEdges(R"({"from":"START","when":[{"field":"x","above":"1","to":"B"}],
                                      "otherwise":"A"})"),
                        "app.edges.0.when.0.above: must be a number"},
        DocumentMistake{WithEdges(R"({"from":"START","when":[{"field":"x","above":1,"below":2,
                                      "to":"B"}],"otherwise":"A"})"),
                        "app.edges.0.when.0: one comparison at a time"},
        DocumentMistake{WithEdges(R"({"from":"START","when":[{"field":"execution_meta.step",
                                      "above":1,"to":"B"}],"otherwise":"A"})"),
                        "app.edges.0.when.0.field: belongs to the state itself: a condition "
                        "tests a field of the graph"},
        DocumentMistake{WithEdges(R"({"from":"START","when":[{"tool_calls_pending":1,"to":"B"}],
                                      "otherwise":"A"})"),
                        "app.edges.0.when.0.tool_calls_pending: must be true or false"},
        DocumentMistake{WithEdges(R"({"from":"START","when":[{"tool_calls_pending":[],"to":"B"}],
                                      "otherwise":"A"})"),
                        "app.edges.0.when.0.tool_calls_pending: needs the name of a tool"},
        DocumentMistake{WithEdges(R"({"from":"START","to":"A"})"),
                        "app: node \"B\" cannot be reached: no edges lead to it from START"},
        DocumentMistake{WithKey(R"("fields":[])"), "app.fields: must be an object"},
        DocumentMistake{
            WithKey(R"("fields":{"f":{"reducer":"product"}})"),
            "app.fields.f.reducer: must be one of replace, append, sum, min, max, union, merge"},
        DocumentMistake{WithKey(R"("fields":{"f":{"reducer":"append","default":1}})"),
                        "app.fields.f.default: must be of type array"},
        DocumentMistake{WithKey(R"("fields":{"execution_meta":{}})"),
                        "app.fields.execution_meta: the name belongs to the state itself"},
        DocumentMistake{WithKey(R"("interrupt_before":["Z"])"),
                        "app.interrupt_before.0: there is no node \"Z\""},
        DocumentMistake{WithKey(R"("interrupt_after":"A")"),
                        "app.interrupt_after: must be an array"}));

TEST(DeclarativeTest, DocumentMistakes) {
  TemporaryFile broken(".json", "{\n  \"app\": {]");
  EXPECT_EQ(LoadGraph(broken.path(), "app").status().message(),
            broken.path() + ":2:11: not valid JSON");
  TemporaryFile twice(".json", "{\n  \"app\": {},\n  \"app\": {}}");
  EXPECT_EQ(LoadGraph(twice.path(), "app").status().message(),
            twice.path() + ":3:3: app: is there twice");
  TemporaryFile list(".json", "[]");
  EXPECT_EQ(Problem(list.path(), "app"), "must be a JSON object");
  EXPECT_EQ(Problem(kSamples + "support.json", "main"),
            "there is no graph \"main\"; the document has: app");
}

TEST(DeclarativeTest, ConditionsRepliesAndFields) {
  TemporaryFile file(".json", R"({"flow":{
    "nodes":[{"name":"ASK","type":"reply","text":"Sure?","set":{"asked":true,"log":"ASK"},
              "pause":"wants a yes"},
             {"name":"GOLD","type":"reply","text":"gold"},
             {"name":"BYE","type":"reply","text":"bye"}],
    "edges":[{"from":"START","when":[{"last_text_contains":"Good Bye","to":"BYE"},
                {"field":"customer.tier","equals":"gold","to":"GOLD"},
                {"field":"score","above":3,"to":"GOLD"},
                {"field":"tags","contains":"vip","to":"GOLD"},
                {"field":"asked","exists":true,"to":"END"}],"otherwise":"ASK"},
             {"from":"ASK","to":"END"}],
    "fields":{"log":{"reducer":"append"},"score":{"default":1}},
    "interrupt_after":["GOLD"]}})");
  auto loaded = LoadGraph(file.path(), "flow");
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  const CompiledGraph& graph = **loaded;
  EXPECT_EQ(graph.name(), "flow");
  EXPECT_TRUE(graph.InterruptsAfter("GOLD"));
  auto start_with = [&](const char* fields, const char* text) {
    State state;
    state.mutable_messages().push_back(Message::User(text));
    EXPECT_TRUE(graph.SetFields(json::parse(fields), state).ok());
    graph.AddMissingFields(state);
    return graph.Next(START, state).value();
  };
  EXPECT_EQ(start_with("{}", "hi"), "ASK");
  EXPECT_EQ(start_with("{}", "well, GOOD BYE then"), "BYE");
  EXPECT_EQ(start_with(R"({"customer":{"tier":"gold"}})", "hi"), "GOLD");
  EXPECT_EQ(start_with(R"({"customer":"gold"})", "hi"), "ASK");
  EXPECT_EQ(start_with(R"({"score":3.5})", "hi"), "GOLD");
  EXPECT_EQ(start_with(R"({"score":"9"})", "hi"), "ASK");
  EXPECT_EQ(start_with(R"({"tags":["new","vip"]})", "hi"), "GOLD");
  EXPECT_EQ(start_with(R"({"asked":false})", "hi"), END);

  const auto& node = std::get<FunctionNode>(graph.FindNode("ASK")->kind);
  EXPECT_EQ(node.execution, Execution::kNonBlocking);
  State state;
  FakeRunContext context;
  NodeResult result = node.function(state, context);
  EXPECT_EQ(result.messages[0].Text(), "Sure?");
  EXPECT_EQ(result.interrupt->reason, "wants a yes");
  ASSERT_TRUE(graph.ApplyUpdates(result.updates, state).ok());
  EXPECT_EQ(state.fields(), json::parse(R"({"asked":true,"log":["ASK"]})"));
}

std::string SourceText(const std::string& path) {
  std::ifstream stream(std::string(AGENT_GRAPH_SOURCE "/") + path);
  return std::string((std::istreambuf_iterator<char>(stream)), {});
}

TEST(DeclarativeTest, SchemaKnowsTheSameTools) {
  json schema = json::parse(SourceText("conf/graph.schema.json"));
  EXPECT_EQ(schema["$defs"]["ToolsNode"]["properties"]["tools"]["items"]["anyOf"][0]["enum"],
            json(tools::BuiltinNames()));
}

TEST(DeclarativeTest, TheExampleOfTheDocumentationLoads) {
  std::string manual = SourceText("docs/sdk.md");
  size_t begin = manual.find("```json\n{\n  \"app\"");
  ASSERT_NE(begin, std::string::npos);
  begin += std::string("```json\n").size();
  TemporaryFile example(".json", manual.substr(begin, manual.find("```", begin) - begin));
  auto graph = LoadGraph(example.path(), "app");
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ((*graph)->nodes().size(), 3u);
}

}  // namespace
}  // namespace agent_graph::graph
