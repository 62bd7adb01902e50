// The fold of a run's log next to entries of other runs and of other builds;
// conformance/lost_run_test.cc has whole runs.
#include "state/rules/fold.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"

namespace agent_graph::state {
namespace {

using Kind = FieldEffect::Kind;

constexpr uint64_t kEpoch = 7;
constexpr uint64_t kOlderBuild = 0;

LogEntry Started() {
  return {kRunStarted, R"({"run_id":"r"})", 0};
}
LogEntry Changing(const std::string& name, Kind kind, const std::string& value, uint64_t length) {
  return {"state_update", "{}", 0, StateEffect{.fields = {{name, kind, value, length}}}};
}

class FoldTest : public testing::Test {
 protected:
  json Fold(const std::optional<std::string>& base) {
    Snapshot stored;
    stored.fields_json = R"({"list":[1]})";
    Result<Snapshot> folded = effects_.FoldInto(stored, base, {});
    EXPECT_TRUE(folded.ok()) << folded.status().ToString();
    return folded.ok() ? json::parse(folded->fields_json) : json();
  }
  json Fold() { return Fold(R"({"list":[1]})"); }

  RunEffects effects_{kEpoch};
};

TEST_F(FoldTest, EntriesOfAnotherRunAreNotTaken) {
  EXPECT_TRUE(effects_.TakeEarlier({Changing("list", Kind::kAppend, "2", 1)}, kEpoch));
  EXPECT_FALSE(effects_.TakeEarlier({Changing("list", Kind::kReplace, "9", 0)}, kEpoch - 1));
  EXPECT_EQ(Fold(), json::parse(R"({"list":[1,2]})"));
}

TEST_F(FoldTest, NorThoseBeforeTheBeginOfTheRun) {
  EXPECT_FALSE(effects_.TakeEarlier(
      {Changing("old", Kind::kReplace, "9", 0), Started(), Changing("list", Kind::kAppend, "2", 1)},
      kEpoch));
  EXPECT_EQ(Fold(), json::parse(R"({"list":[1,2]})"));
}

// The first entries were stored by an older build, which drops effects.
TEST_F(FoldTest, AfterEntriesOfAnOlderBuildOnlyWholeValuesAreCertain) {
  EXPECT_TRUE(effects_.TakeEarlier(
      {Changing("list", Kind::kAppend, "2", 1), Changing("map", Kind::kMerge, R"({"a":1})", 0),
       Changing("whole", Kind::kReplace, "[1]", 0), Changing("whole", Kind::kAppend, "2", 1)},
      kEpoch));
  EXPECT_FALSE(effects_.TakeEarlier({Started()}, kOlderBuild));
  EXPECT_EQ(Fold(), json::parse(R"({"list":[1],"whole":[1,2]})"));
}

TEST_F(FoldTest, EarlierRunsOfAnOlderBuildDoNotMatter) {
  EXPECT_FALSE(effects_.TakeEarlier({Started(), Changing("list", Kind::kAppend, "2", 1)}, kEpoch));
  EXPECT_EQ(Fold(), json::parse(R"({"list":[1,2]})"));
}

TEST_F(FoldTest, WithoutTheLoadedFieldsOnlyWholeValuesAreCertain) {
  EXPECT_FALSE(effects_.TakeEarlier({Started(), Changing("list", Kind::kAppend, "2", 1),
                                     Changing("whole", Kind::kReplace, "1", 0)},
                                    kEpoch));
  EXPECT_EQ(Fold(std::nullopt), json::parse(R"({"list":[1],"whole":1})"));
}

TEST_F(FoldTest, AValueThatCannotBeReadIsAnError) {
  EXPECT_TRUE(effects_.TakeEarlier({Changing("a", Kind::kReplace, "{", 0)}, kEpoch));
  EXPECT_EQ(effects_.FoldInto({}, "{}", {}).status().code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace agent_graph::state
