#include "run/log/log_entry.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"
#include "run/log/message_entry.h"
#include "state/pack/fields.h"

namespace agent_graph::run {
namespace {

const entry::CallRef kCall{.node = "TOOLS", .tool = "weather", .call_id = "c1"};

struct Case {
  EntryBody body;
  const char* kind;
  const char* json;
};

// The stored format: older and newer versions read these bytes.
const Case kCases[] = {
    {entry::RunStarted{.run_id = "r", .graph = "g \"1\"", .graph_hash = "h"}, "run_started",
     R"({"run_id":"r","graph":"g \"1\"","graph_hash":"h"})"},
    {entry::AttemptStarted{.run_id = "r", .attempt = 2, .graph = "g", .graph_hash = "h"},
     "attempt_started", R"({"run_id":"r","attempt":2,"graph":"g","graph_hash":"h"})"},
    {entry::NodeStarted{.node = "A", .step = 1}, "node_started", R"({"node":"A","step":1})"},
    {entry::NodeFinished{.node = "A", .step = 1}, "node_finished", R"({"node":"A","step":1})"},
    {entry::NodeRetry{.node = "A", .attempt = 2, .reason = "busy"}, "node_retry",
     R"({"node":"A","attempt":2,"reason":"busy"})"},
    {entry::StateUpdate{
         .node = "A", .updates = {{"a", "[1,2]"}, {"b", "null"}}, .summary = "short"},
     "state_update",
     R"({"node":"A","updates":[{"field":"a","value":[1,2]},{"field":"b","value":null}],)"
     R"("summary":"short"})"},
    {entry::StateUpdate{.node = "", .updates = {}, .summary = std::nullopt}, "state_update",
     R"({"node":"","updates":[]})"},
    {entry::ToolIntent{.call = kCall, .idempotency_key = "k", .idempotent = true}, "tool_intent",
     R"({"node":"TOOLS","tool":"weather","call_id":"c1","idempotency_key":"k","idempotent":true})"},
    {entry::ToolIntent{.call = kCall, .idempotency_key = "k", .remote = true}, "tool_intent",
     R"({"node":"TOOLS","tool":"weather","call_id":"c1","idempotency_key":"k","remote":true})"},
    {entry::ToolStarted{.call = kCall, .micros = 5}, "tool_started",
     R"({"node":"TOOLS","tool":"weather","call_id":"c1","micros":5})"},
    {entry::ToolFinished{.call = kCall, .is_error = true}, "tool_finished",
     R"({"node":"TOOLS","tool":"weather","call_id":"c1","is_error":true})"},
    {entry::ToolFinished{.call = kCall,
                         .time = entry::CallTime{.finished_micros = 9, .duration_micros = 4},
                         .output_json = R"({"x":[]})"},
     "tool_finished",
     R"({"node":"TOOLS","tool":"weather","call_id":"c1","is_error":false,"micros":9,)"
     R"("duration_micros":4,"output":{"x":[]}})"},
    {entry::ToolPaused{
         .call = kCall, .time = {.finished_micros = 9, .duration_micros = 4}, .questions = 2},
     "tool_paused",
     R"({"node":"TOOLS","tool":"weather","call_id":"c1","micros":9,"duration_micros":4,)"
     R"("questions":2})"},
    {entry::ModelFailed{.node = "A",
                        .model_name = "default",
                        .duration_micros = 7,
                        .code = "MODEL",
                        .reason = "no"},
     "model_failed",
     R"({"node":"A","model_name":"default","duration_micros":7,"code":"MODEL","reason":"no"})"},
    {entry::ModelFinished{
         .node = "A",
         .model_name = "default",
         .duration_micros = 7,
         .stop_reason = "stop",
         .reply =
             entry::ModelFinished::Reply{
                 .model = "", .message_id = "m", .input_tokens = 3, .output_tokens = 2}},
     "model_finished",
     R"({"node":"A","model_name":"default","duration_micros":7,"model":"","stop_reason":"stop",)"
     R"("message_id":"m","input_tokens":3,"output_tokens":2})"},
    {entry::ModelFinished{
         .node = "A", .model_name = "default", .duration_micros = 7, .stop_reason = "stop"},
     "model_finished",
     R"({"node":"A","model_name":"default","duration_micros":7,"stop_reason":"stop"})"},
    {entry::ModelFinished{.node = "A",
                          .model_name = "default",
                          .reply = entry::ModelFinished::Reply{.cost_nano_usd = 9}},
     "model_finished",
     R"({"node":"A","model_name":"default","duration_micros":0,"model":"","stop_reason":"",)"
     R"("message_id":"","input_tokens":0,"output_tokens":0,"cost_nano_usd":9})"},
    {entry::ModelFailed{.node = "A",
                        .model_name = "default",
                        .code = "MODEL",
                        .reason = "no",
                        .input_tokens = 3,
                        .output_tokens = 1,
                        .cost_nano_usd = 9},
     "model_failed",
     R"({"node":"A","model_name":"default","duration_micros":0,"code":"MODEL","reason":"no",)"
     R"("input_tokens":3,"output_tokens":1,"cost_nano_usd":9})"},
    {entry::ModelLost{.node = "A", .model_name = "default", .input_tokens = 3, .cost_nano_usd = 9},
     "model_lost", R"({"node":"A","model_name":"default","input_tokens":3,"cost_nano_usd":9})"},
    {entry::AttemptLeft{}, "attempt_left", "{}"},
    {entry::ContextTrimmed{.messages = 4}, "context_trimmed", R"({"messages":4})"},
    {entry::Interrupted{.node = "A",
                        .phase = "interrupted_before",
                        .reason = "before node A",
                        .data_json = R"({"a":1})"},
     "interrupted",
     R"({"node":"A","status":"interrupted_before","reason":"before node A","data":{"a":1}})"},
    {entry::RunFailed{.code = "GRAPH", .reason = "broken", .node = "A", .step = 2}, "error",
     R"({"status":"error","code":"GRAPH","reason":"broken","node":"A","step":2})"},
    {entry::RunFinished{.run_id = "r", .status = RunStatus::kInterrupted, .reason = ""},
     "run_finished", R"({"run_id":"r","status":"interrupted"})"},
    {entry::RunFinished{.run_id = "r", .status = RunStatus::kError, .reason = "worker_lost"},
     "run_finished", R"({"run_id":"r","status":"error","reason":"worker_lost"})"},
};

TEST(LogEntryTest, StoredBytesOfEachKind) {
  for (const Case& expected : kCases) {
    const state::LogEntry stored = Encode(expected.body, 42);
    EXPECT_EQ(stored.kind, expected.kind);
    EXPECT_EQ(stored.json, expected.json);
    EXPECT_EQ(stored.micros, 42);
  }
}

TEST(LogEntryTest, DecodingRestoresEachEntry) {
  for (const Case& expected : kCases) {
    const std::optional<EntryBody> body = Decode({expected.kind, expected.json, 0});
    ASSERT_TRUE(body) << expected.json;
    EXPECT_EQ(body->index(), expected.body.index());
    EXPECT_EQ(Encode(*body, 0).json, expected.json);
  }
}

// Values are stored once: in the effect, or in the JSON if the reducer has changed them.
TEST(LogEntryTest, AStateUpdateWithItsEffect) {
  using Kind = state::FieldEffect::Kind;
  const entry::StateUpdate update{
      .node = "A",
      .updates = {{"list", "[1,2]"}, {"sum", "3"}, {"gone", "null"}},
      .summary = "short",
      .effect = state::StateEffect{.fields = {{"list", Kind::kAppend, "[1,2]", 7, 4},
                                              {"sum", Kind::kReplace, "10", 0, 4},
                                              {"gone", Kind::kReplace, "null", 0, 4}},
                                   .summary_changed = true,
                                   .summary = "short",
                                   .summary_position = 4}};
  const state::LogEntry stored = Encode(update, 42);
  EXPECT_EQ(
      stored.json,
      R"({"node":"A","updates":[{"field":"list"},{"field":"sum","value":3},{"field":"gone"}],)"
      R"("summary":""})");
  state::LogEntry back;
  ASSERT_TRUE(state::pack::FromBytes(state::pack::ToBytes(stored), back));
  const auto decoded = std::get<entry::StateUpdate>(Decode(back).value());
  for (size_t i = 0; i < update.updates.size(); ++i) {
    EXPECT_EQ(decoded.updates[i].name, update.updates[i].name);
    EXPECT_EQ(decoded.updates[i].value_json, update.updates[i].value_json);
  }
  EXPECT_EQ(decoded.summary, "short");
  const state::LogEntry again = Encode(decoded, 42);
  EXPECT_EQ(state::pack::ToBytes(again), state::pack::ToBytes(stored));
}

TEST(LogEntryTest, ValuesThatWereSet) {
  const state::LogEntry stored =
      Encode(entry::StateSet{{.fields = {{.name = "a", .value_json = "1"}}, .complete = true}}, 42);
  EXPECT_EQ(stored.kind, "state_set");
  EXPECT_EQ(stored.json, R"({"fields":["a"],"complete":true})");
  const auto decoded = std::get<entry::StateSet>(Decode(stored).value());
  EXPECT_EQ(decoded.effect.fields[0].value_json, "1");
  EXPECT_TRUE(decoded.effect.complete);
  EXPECT_EQ(NodeOf(decoded), "");
}

TEST(LogEntryTest, AnEntryOfAnOlderBuildHasNoEffect) {
  std::string bytes;
  state::pack::Packer packer(bytes);
  packer.Array(3);
  packer.Text("state_update");
  packer.Text(R"({"node":"A","updates":[{"field":"a","value":[1,2]}],"summary":"short"})");
  packer.Signed(42);
  state::LogEntry stored;
  ASSERT_TRUE(state::pack::FromBytes(bytes, stored));
  const auto update = std::get<entry::StateUpdate>(Decode(stored).value());
  EXPECT_FALSE(update.effect);
  EXPECT_EQ(update.updates[0].value_json, "[1,2]");
  EXPECT_EQ(update.summary, "short");
}

TEST(LogEntryTest, AMessageIsStoredWithoutItsText) {
  Message message = Message::Assistant("secret");
  message.id = "m";
  message.content.emplace_back(ToolCallBlock{"c1", "weather", "{}"});
  message.usage = Usage{.prompt_tokens = 10, .completion_tokens = 4, .reasoning_tokens = 3};
  message.metadata_json = R"({"model":"m-1"})";
  const state::LogEntry stored = Encode(MessageEntry(message, "MAIN"), 0);
  EXPECT_EQ(stored.kind, "message");
  EXPECT_EQ(stored.json,
            R"({"message_id":"m","node":"MAIN","role":"assistant","blocks":["text","tool_call"],)"
            R"("tools":["weather"],"usage":{"prompt":10,"completion":4,"reasoning":3,"total":0},)"
            R"("model":"m-1"})");
  EXPECT_EQ(Encode(*Decode(stored), 0).json, stored.json);
  EXPECT_EQ(Encode(MessageEntry(Message::User("hi"), ""), 0).json,
            R"({"message_id":"","node":"","role":"user","blocks":["text"]})");
}

TEST(LogEntryTest, AKindOfAnotherVersionKeepsItsNode) {
  const std::optional<EntryBody> body = Decode({"dreamed", R"({"node":"A","of":"sheep"})", 0});
  ASSERT_TRUE(body);
  ASSERT_TRUE(std::holds_alternative<entry::Unknown>(*body));
  EXPECT_EQ(std::get<entry::Unknown>(*body).kind, "dreamed");
  EXPECT_EQ(NodeOf(*body), "A");
  EXPECT_EQ(CallOf(*body), nullptr);
}

TEST(LogEntryTest, MembersOfTheWrongTypeAreIgnored) {
  EXPECT_FALSE(Decode({"node_started", "not JSON", 0}));
  EXPECT_FALSE(Decode({"node_started", "[]", 0}));
  const auto started = Decode({"node_started", R"({"node":7,"step":"1"})", 0});
  ASSERT_TRUE(started);
  EXPECT_EQ(Encode(*started, 0).json, R"({"node":"","step":0})");
  const auto update = Decode({"state_update", R"({"updates":[7,{"field":"a"}],"summary":5})", 0});
  ASSERT_TRUE(update);
  EXPECT_EQ(std::get<entry::StateUpdate>(*update).updates.size(), 2u);
  const auto message = Decode({"message", R"({"blocks":"text","usage":[],"tools":[1,"t"]})", 0});
  ASSERT_TRUE(message);
  EXPECT_FALSE(std::get<entry::MessageAdded>(*message).usage);
  EXPECT_EQ(std::get<entry::MessageAdded>(*message).tools, std::vector<std::string>{"t"});
}

TEST(LogEntryTest, CallAndNodeOfAnEntry) {
  EXPECT_EQ(NodeOf(entry::NodeStarted{.node = "A"}), "A");
  EXPECT_EQ(NodeOf(entry::ToolStarted{.call = kCall}), "TOOLS");
  EXPECT_EQ(NodeOf(entry::RunFinished{}), "");
  EXPECT_EQ(CallOf(entry::NodeStarted{.node = "A"}), nullptr);
  const EntryBody paused = entry::ToolPaused{.call = kCall};
  ASSERT_NE(CallOf(paused), nullptr);
  EXPECT_EQ(CallOf(paused)->call_id, "c1");
}

}  // namespace
}  // namespace agent_graph::run
