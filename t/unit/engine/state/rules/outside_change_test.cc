// The bounds of the changes that others make while a run is in flight;
// conformance/outside_change_test.cc has whole runs.
#include "state/rules/outside_change.h"

#include <gtest/gtest.h>

#include "state/limits.h"

namespace agent_graph::state {
namespace {

constexpr size_t kFieldsMax = 10'000;

std::vector<std::string> Names(size_t count) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) names.push_back("field" + std::to_string(i));
  return names;
}

StatusCode Add(std::vector<std::string> names, uint64_t behind, OutsideChangeRow& row) {
  OutsideChange change;
  change.fields = std::move(names);
  return AddOutsideChange(change, behind, row).code();
}

TEST(OutsideChange, TooManyFieldsAreRefusedAtTheBound) {
  OutsideChangeRow row;
  EXPECT_EQ(Add(Names(10 * kFieldsMax), 1, row), StatusCode::kResourceExhausted);
  EXPECT_LE(row.fields.size(), kFieldsMax);
}

TEST(OutsideChange, AFieldThatChangesAgainCountsOnce) {
  OutsideChangeRow row;
  EXPECT_EQ(Add(Names(kFieldsMax), 1, row), StatusCode::kOk);
  EXPECT_EQ(Add(Names(kFieldsMax), 2, row), StatusCode::kOk);
  ASSERT_EQ(row.fields.size(), kFieldsMax);
  EXPECT_EQ(row.fields.front().behind, 2u);
  EXPECT_EQ(row.fields.back().behind, 2u);
  EXPECT_EQ(Add({"another"}, 3, row), StatusCode::kResourceExhausted);
}

// A null removes a field that there may never have been, so the state does not grow.
TEST(OutsideChange, LongNamesAreRefused) {
  const std::string half(kThreadJsonBytesMax / 2, 'x');
  OutsideChangeRow row;
  EXPECT_EQ(Add({half}, 1, row), StatusCode::kOk);
  EXPECT_EQ(Add({half}, 2, row), StatusCode::kOk);
  EXPECT_EQ(Add({half + "y"}, 3, row), StatusCode::kResourceExhausted);
}

bool Joins(const std::string& content, OutsideChangeRow& row) {
  return JoinsNewContext({"m", 0, R"({"role":"tool","content":[)" + content + "]}"}, row);
}

TEST(OutsideChange, AMessageJoinsTheNewContextIfAllCallsThatItAnswersAreOpen) {
  const std::string result_of_a = R"({"type":"tool_result","call_id":"a","output":1})";
  const std::string result_of_b = R"({"type":"tool_result","call_id":"b","output":1})";
  OutsideChangeRow row;
  row.context_cleared = row.context_restarted = true;
  row.open_calls = {"a", "c"};
  EXPECT_FALSE(Joins(result_of_a + "," + result_of_b, row));
  EXPECT_EQ(row.open_calls, (std::vector<std::string>{"a", "c"}));
  EXPECT_TRUE(Joins(result_of_a + "," + result_of_a, row));
  EXPECT_EQ(row.open_calls, std::vector<std::string>{"c"});
  EXPECT_FALSE(Joins(result_of_a, row));
}

}  // namespace
}  // namespace agent_graph::state
