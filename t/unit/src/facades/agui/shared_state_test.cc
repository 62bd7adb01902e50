#include "facades/agui/shared_state.h"

#include <gtest/gtest.h>

namespace agent_graph::agui {
namespace {

using Kind = state::FieldEffect::Kind;

// The event that a client gets; null: none.
json Change(SharedState& state) {
  std::string out;
  state.AppendChange(out);
  return out.empty() ? json() : json::parse(out.substr(6));
}

state::StateEffect Effect(const char* name, Kind kind, const char* value, uint64_t length = 0) {
  state::StateEffect effect;
  effect.fields.push_back({name, kind, value, length, 0});
  return effect;
}

TEST(SharedState, BeginsWithASnapshot) {
  SharedState state;
  EXPECT_TRUE(Change(state).is_null()) << "nothing to share";
  state.Set({{"count", 1}});
  EXPECT_EQ(Change(state).at("snapshot"), json({{"count", 1}}));
  EXPECT_TRUE(Change(state).is_null());
}

TEST(SharedState, ChangesArePatches) {
  const std::string long_text(200, 'x');
  json fields = {{"text", long_text}, {"list", {1}}, {"plan", {{"a", {{"b", 1}}}}}};
  SharedState state;
  state.Set(fields);
  (void)Change(state);
  state.Apply(Effect("list", Kind::kAppend, "[2,3]", 1));
  state.Apply(Effect("plan", Kind::kMerge, R"({"a":{"c":2}})"));
  state.Apply(Effect("odd/~name", Kind::kReplace, "true"));
  state.Apply(Effect("context", Kind::kReplace, "[]"));
  const json event = Change(state);
  ASSERT_EQ(event.at("type"), "STATE_DELTA");
  const json patched = fields.patch(event.at("delta"));
  fields["list"] = {1, 2, 3};
  fields["plan"]["a"]["c"] = 2;
  fields["odd/~name"] = true;
  EXPECT_EQ(patched, fields);
}

TEST(SharedState, ChangesThatAreRepeatedChangeNothing) {
  SharedState state;
  state.Set({{"list", {1, 2, 3}}, {"count", 3}});
  (void)Change(state);
  state.Apply(Effect("list", Kind::kAppend, "[2]", 1));
  state.Apply(Effect("list", Kind::kAppend, "3", 2));
  state.Apply(Effect("count", Kind::kReplace, "3"));
  EXPECT_TRUE(Change(state).is_null());
}

TEST(SharedState, ALargeChangeIsASnapshot) {
  SharedState state;
  state.Set({{"a", 1}});
  (void)Change(state);
  state.Set({{"b", 2}});
  EXPECT_EQ(Change(state).at("type"), "STATE_SNAPSHOT");
}

TEST(SharedState, AnAgentStateHasMoreThanTheFields) {
  SharedState state;
  ASSERT_TRUE(state
                  .SetFromAgentState(
                      R"({"context":[],"context_summary":null,"execution_meta":{},"count":1})")
                  .ok());
  EXPECT_EQ(Change(state).at("snapshot"), json({{"count", 1}}));
  EXPECT_FALSE(state.SetFromAgentState("[]").ok());
}

}  // namespace
}  // namespace agent_graph::agui
