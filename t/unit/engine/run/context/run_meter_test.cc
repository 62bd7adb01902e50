#include "run/context/run_meter.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"
#include "base/clock.h"

namespace agent_graph::run {
namespace {

constexpr int64_t kLongAgo = 1;

TEST(RunBudgetTest, IsReadFromTheConfig) {
  const json config = json::parse(
      R"({"budget":{"tokens":10,"cost_usd":0.5,"seconds":3.0,"model_calls":2,"tool_calls":4}})");
  const RunBudget budget = ReadBudget(config);
  EXPECT_EQ(budget.tokens, 10);
  EXPECT_EQ(budget.cost_nano_usd, 500'000'000);
  EXPECT_EQ(budget.seconds, 3);
  EXPECT_EQ(budget.model_calls, 2);
  EXPECT_EQ(budget.tool_calls, 4);
  EXPECT_TRUE(budget.limits_anything());
}

TEST(RunBudgetTest, OtherValuesAreNoLimits) {
  for (const char* text : {"{}", R"({"budget":null})", R"({"budget":5})", R"({"budget":{}})",
                           R"({"budget":{"tokens":"10","seconds":0,"cost_usd":-1}})", "[]"}) {
    EXPECT_FALSE(ReadBudget(json::parse(text)).limits_anything()) << text;
  }
}

TEST(RunMeterTest, TokensThatAreUsedUpAllowNoFurtherCall) {
  RunMeter meter({.tokens = 10}, UnixMicros());
  EXPECT_TRUE(meter.BeginModelCall("m", false).ok());
  EXPECT_TRUE(meter.Use(10, 0).ok());
  EXPECT_TRUE(meter.status().ok());
  EXPECT_EQ(meter.BeginModelCall("m", false).code(), StatusCode::kBudgetExceeded);
  EXPECT_EQ(meter.status().message(), "the run has used up its budget of 10 tokens");
}

TEST(RunMeterTest, MoreTokensEndACallInProgress) {
  RunMeter meter({.tokens = 10}, UnixMicros());
  EXPECT_TRUE(meter.BeginModelCall("m", false).ok());
  EXPECT_EQ(meter.Use(11, 0).code(), StatusCode::kBudgetExceeded);
  EXPECT_EQ(meter.BeginToolCalls(1).code(), StatusCode::kBudgetExceeded) << "the run is over";
}

TEST(RunMeterTest, EarlierAttemptsCount) {
  RunMeter meter({.model_calls = 3, .tool_calls = 2}, UnixMicros());
  meter.AddEarlier({.model_calls = 2, .tool_calls = 1}, UnixMicros());
  EXPECT_TRUE(meter.BeginModelCall("m", false).ok());
  EXPECT_TRUE(meter.BeginToolCalls(1).ok());
  EXPECT_EQ(meter.BeginToolCalls(1).code(), StatusCode::kBudgetExceeded);
}

TEST(RunMeterTest, TimeIsCountedFromTheFirstAttempt) {
  RunMeter meter({.seconds = 3600}, UnixMicros());
  EXPECT_TRUE(meter.BeginModelCall("m", false).ok());
  EXPECT_GT(meter.deadline(), MonotonicClock::now());
  meter.AddEarlier({}, kLongAgo);
  const Deadline past = meter.deadline();
  EXPECT_LE(past, MonotonicClock::now());
  EXPECT_EQ(meter.BeginModelCall("m", false).message(),
            "the run has used up its budget of 3600 seconds");
}

TEST(RunMeterTest, AVeryLongTimeDoesNotEndAtOnce) {
  for (const int64_t seconds : {int64_t{4'000'000'000}, int64_t{9'300'000'000}, INT64_MAX}) {
    RunMeter meter({.seconds = seconds}, UnixMicros());
    EXPECT_TRUE(meter.BeginModelCall("m", false).ok());
    EXPECT_GT(meter.deadline(), MonotonicClock::now()) << seconds;
  }
}

TEST(RunMeterTest, CostsNeedAPrice) {
  RunMeter meter({.cost_nano_usd = 1'000'000}, UnixMicros());
  EXPECT_TRUE(meter.BeginModelCall("m", true).ok());
  EXPECT_TRUE(meter.Use(1000, 1'000'000).ok());
  EXPECT_EQ(meter.BeginModelCall("m", true).message(),
            "the run has used up its budget of 0.001 USD");
  RunMeter other({.cost_nano_usd = 1'000'000}, UnixMicros());
  EXPECT_NE(other.BeginModelCall("m", false).message().find("no price"), std::string::npos);
}

}  // namespace
}  // namespace agent_graph::run
