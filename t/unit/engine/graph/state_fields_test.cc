// Declared fields of the state: defaults, reducers, updates.
#include <gmock/gmock.h>

#include "agent_graph/json.h"
#include "compile.h"
#include "graph/compiled_graph.h"

namespace agent_graph::graph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::shared_ptr<const CompiledGraph> GraphWithFields() {
  GraphBuilder builder;
  AddAgentAndTools(builder);
  builder.AddField(
      {.name = "tier", .default_json = "\"free\"", .schema_json = R"({"type":"string"})"});
  builder.AddField({.name = "notes", .reducer = Reducer::kAppend});
  builder.AddField(
      {.name = "total",
       .reducer = Reducer::kCustom,
       .custom = [](const json& current,
                    const json& update) { return json(current.get<int>() + update.get<int>()); },
       .default_json = "0"});
  return Compile(builder);
}

TEST(StateFieldsTest, DefaultsAndReducers) {
  auto graph = GraphWithFields();
  State state;
  graph->AddMissingFields(state);
  EXPECT_EQ(state.fields(), json::parse(R"({"tier":"free","notes":[],"total":0})"));
  ASSERT_TRUE(graph
                  ->ApplyUpdates({{"tier", "\"gold\""},
                                  {"notes", "\"a\""},
                                  {"notes", "[\"b\",\"c\"]"},
                                  {"total", "2"},
                                  {"total", "3"},
                                  {"undeclared", "[1]"}},
                                 state)
                  .ok());
  EXPECT_EQ(state.fields(), json::parse(R"({"tier":"gold","notes":["a","b","c"],"total":5,
                                            "undeclared":[1]})"));
  graph->AddMissingFields(state);
  EXPECT_EQ(state.Field("total"), 5);
  EXPECT_TRUE(state.Field("nothing").is_null());
}

TEST(StateFieldsTest, ReducersWithoutCode) {
  struct Case {
    Reducer reducer;
    const char* preset;  // null: none
    std::vector<std::string> updates;
    const char* result;
  };
  const Case cases[] = {
      {Reducer::kSum, "null", {"1", "null", "2"}, "3"},
      {Reducer::kSum, "10", {"-3", "0.5"}, "7.5"},
      {Reducer::kSum, "9223372036854775807", {"1"}, "9223372036854775808.0"},
      {Reducer::kSum, "18446744073709551615", {"1"}, "18446744073709551616.0"},
      {Reducer::kMin, "null", {"3", "2.5", "4", "null"}, "2.5"},
      {Reducer::kMax, "null", {"3", "2.5", "4", "null"}, "4"},
      {Reducer::kMax, "5", {"4"}, "5"},
      {Reducer::kUnion, "null", {"1", "[1,2,2]", "[[1]]", "[[1]]"}, "[1,2,[1]]"},
      {Reducer::kMerge,
       "null",
       {R"({"a":{"b":1,"c":2}})", R"({"a":{"b":null,"d":3}})", "null"},
       R"({"a":{"c":2,"d":3}})"},
  };
  for (const Case& test : cases) {
    GraphBuilder builder;
    AddAgentAndTools(builder);
    builder.AddField({.name = "f", .reducer = test.reducer, .default_json = test.preset});
    auto graph = Compile(builder);
    State state;
    graph->AddMissingFields(state);
    for (const std::string& update : test.updates) {
      const Status status = graph->ApplyUpdates({{"f", update}}, state);
      EXPECT_TRUE(status.ok()) << status.ToString();
    }
    EXPECT_EQ(state.Field("f"), json::parse(test.result)) << test.result;
  }
}

TEST(StateFieldsTest, UpdatesOfAnotherKind) {
  GraphBuilder builder;
  AddAgentAndTools(builder);
  builder.AddField({.name = "n", .reducer = Reducer::kSum, .default_json = "1e308"});
  builder.AddField({.name = "o", .reducer = Reducer::kMerge});
  auto graph = Compile(builder);
  State state;
  graph->AddMissingFields(state);
  EXPECT_EQ(graph->ApplyUpdates({{"n", "\"1\""}}, state).message(),
            "state field \"n\": the update is no number");
  EXPECT_EQ(graph->ApplyUpdates({{"n", "1e308"}}, state).message(),
            "state field \"n\": the sum is out of range");
  EXPECT_EQ(graph->ApplyUpdates({{"o", "[]"}}, state).message(),
            "state field \"o\": the update is no object");
  // An invalid value from a client counts as unset.
  ASSERT_TRUE(graph->SetFields(json::parse(R"({"n":"x","o":[1]})"), state).ok());
  ASSERT_TRUE(graph->ApplyUpdates({{"n", "5"}, {"o", R"({"a":1})"}}, state).ok());
  EXPECT_EQ(state.Field("n"), 5);
  EXPECT_EQ(state.Field("o"), json::parse(R"({"a":1})"));
}

TEST(StateFieldsTest, UpdatesAreAtomic) {
  GraphBuilder builder;
  AddAgentAndTools(builder);
  builder.AddField({.name = "all", .reducer = Reducer::kAppend});
  builder.AddField({.name = "last"});
  builder.AddField({.name = "most", .reducer = Reducer::kMax});
  builder.AddField({.name = "n", .reducer = Reducer::kSum});
  builder.AddField({.name = "o", .reducer = Reducer::kMerge});
  auto graph = Compile(builder);
  State state;
  graph->AddMissingFields(state);
  const std::vector<FieldUpdate> good = {{"all", "[1]"}, {"last", "2"},       {"n", "3"},
                                         {"n", "4"},     {"o", R"({"a":1})"}, {"new", "5"}};
  ASSERT_TRUE(graph->ApplyUpdates(good, state).ok());
  const json before = state.fields();
  EXPECT_EQ(before, json::parse(R"({"all":[1],"last":2,"most":null,"n":7,"o":{"a":1},"new":5})"));
  for (const FieldUpdate& bad :
       {FieldUpdate{"most", "\"x\""}, FieldUpdate{"later", "{"}, FieldUpdate{"context", "[]"}}) {
    std::vector<FieldUpdate> updates = good;
    updates.push_back(bad);
    updates.push_back({"n", "1"});
    EXPECT_FALSE(graph->ApplyUpdates(updates, state).ok()) << bad.name;
    EXPECT_EQ(state.fields(), before) << bad.name;
  }
}

TEST(StateFieldsTest, AppendMakesAListOfWhatAClientSet) {
  auto graph = GraphWithFields();
  State state;
  ASSERT_TRUE(graph->SetFields(json{{"notes", "x"}, {"context", 1}}, state).ok());
  ASSERT_TRUE(graph->ApplyUpdates({{"notes", "{\"y\":1}"}}, state).ok());
  EXPECT_EQ(state.fields(), json::parse(R"({"notes":["x",{"y":1}]})"));
}

TEST(StateFieldsTest, BadUpdatesAreStatuses) {
  auto graph = GraphWithFields();
  State state;
  graph->AddMissingFields(state);
  const std::pair<FieldUpdate, const char*> cases[] = {
      {{"context", "[]"}, "belongs to the state itself"},
      {{"tier", "{"}, "not valid JSON"},
      {{"total", "\"x\""}, "the reducer failed"}};
  for (const auto& [update, problem] : cases) {
    Status status = graph->ApplyUpdates({update}, state);
    EXPECT_EQ(status.code(), StatusCode::kGraph);
    EXPECT_THAT(status.message(), HasSubstr(problem));
  }
  EXPECT_EQ(state.Field("total"), 0);
  EXPECT_EQ(graph->SetFields(json(5), state).code(), StatusCode::kInvalidArgument);
}

TEST(StateFieldsTest, AValueMayHaveVeryManyParts) {
  auto graph = GraphWithFields();
  State state;
  const json many = json::array_t(200'000, json(1));
  ASSERT_TRUE(graph->ApplyUpdates({{"tier", many.dump()}}, state).ok());
  EXPECT_EQ(state.Field("tier"), many);
}

TEST(StateFieldsTest, ACustomReducerCannotNestWithoutEnd) {
  GraphBuilder builder;
  AddAgentAndTools(builder);
  size_t levels = 1;
  builder.AddField({.name = "history",
                    .reducer = Reducer::kCustom,
                    .custom = [&](const json& current, const json&) {
                      json nested = current;
                      for (size_t i = 0; i < levels; ++i) nested = json::array({std::move(nested)});
                      return nested;
                    }});
  auto graph = Compile(builder);
  State state;
  graph->AddMissingFields(state);
  for (int i = 0; i < 128; ++i) ASSERT_TRUE(graph->ApplyUpdates({{"history", "1"}}, state).ok());
  const std::string before = state.Field("history").dump();
  levels = 100'000;
  const Status status = graph->ApplyUpdates({{"history", "1"}}, state);
  EXPECT_EQ(status.code(), StatusCode::kGraph);
  EXPECT_EQ(status.message(),
            "state field \"history\": the reducer's result is nested deeper than 128");
  EXPECT_EQ(state.Field("history").dump(), before);
}

TEST(StateFieldsTest, SchemaAndNames) {
  auto graph = GraphWithFields();
  EXPECT_THAT(graph->StateFieldNames(), ElementsAre("context", "context_summary", "execution_meta",
                                                    "tier", "notes", "total"));
  json schema = json::parse(graph->state_schema_json());
  EXPECT_EQ(schema["title"], "AgentState");
  EXPECT_EQ(schema["properties"]["tier"],
            json::parse(R"({"type":"string","title":"tier","default":"free"})"));
  EXPECT_EQ(schema["properties"]["notes"],
            json::parse(R"({"type":"array","title":"notes","default":[]})"));
  EXPECT_TRUE(schema["$defs"].contains("Message"));
}

TEST(StateTest, ResultsOfAnyNumberOfCallsAreFound) {
  constexpr int kCalls = 20'000;
  State state;
  Message calling = Message::Assistant("");
  for (int i = 0; i < kCalls; ++i) {
    calling.content.emplace_back(ToolCallBlock{"call_" + std::to_string(i), "look", "{}", false});
  }
  state.mutable_messages().push_back(std::move(calling));
  for (int i = kCalls - 1; i > 0; --i) {
    state.mutable_messages().push_back(Message::ToolResult("call_" + std::to_string(i), "1"));
  }
  ASSERT_EQ(state.PendingToolCalls().size(), 1u);
  EXPECT_EQ(state.PendingToolCalls()[0]->id, "call_0");
}

TEST(StateTest, IsAValue) {
  State state;
  state.mutable_messages() = {Message::User("first"), Message::Assistant("a"),
                              Message::User("second"), Message::Assistant("b")};
  state.mutable_fields()["x"] = 1;
  State copy = state;
  copy.mutable_fields()["x"] = 2;
  copy.mutable_messages().pop_back();
  EXPECT_EQ(state.Field("x"), 1);
  EXPECT_EQ(state.LastUserText(), "second");
  EXPECT_EQ(state.LastMessage()->Text(), "b");
  EXPECT_EQ(copy.LastMessage()->Text(), "second");
  copy = std::move(state);
  EXPECT_EQ(copy.Field("x"), 1);
  EXPECT_EQ(State().LastMessage(), nullptr);
  EXPECT_EQ(State().LastUserText(), "");
}

}  // namespace
}  // namespace agent_graph::graph
