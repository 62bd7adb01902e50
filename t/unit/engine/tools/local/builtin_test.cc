#include "tools/local/builtin.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"

namespace agent_graph::tools {
namespace {

class FakeToolContext : public ToolContext {
 public:
  const std::string& thread_id() const override { return text_; }
  const std::string& run_id() const override { return text_; }
  const std::string& call_id() const override { return text_; }
  const std::string& idempotency_key() const override { return text_; }
  const json& user() const override { return object_; }
  const json& config() const override { return object_; }
  bool cancelled() const override { return false; }
  bool SleepFor(std::chrono::milliseconds) override { return true; }
  void Log(LogLevel, std::string_view) override {}

 private:
  std::string text_;
  json object_ = json::object();
};

ToolOutput Call(const char* tool, const json& arguments) {
  FakeToolContext context;
  return FindBuiltin(tool)->function(arguments, context);
}

TEST(BuiltinTest, MemoriesNeedAStoreAndSensibleArguments) {
  EXPECT_TRUE(Call("remember", {{"content", 5}}).is_error);
  EXPECT_TRUE(Call("recall", json::object()).is_error);
  EXPECT_TRUE(Call("recall", {{"query", "x"}, {"limit", 0}}).is_error);
  EXPECT_THROW(Call("remember", {{"content", "x"}}), MemoryError);
}

TEST(BuiltinTest, EveryToolDescribesItself) {
  for (const std::string& name : BuiltinNames()) {
    const Tool* tool = FindBuiltin(name);
    ASSERT_NE(tool, nullptr);
    EXPECT_FALSE(tool->description.empty());
    EXPECT_EQ(json::parse(tool->parameters_json)["type"], "object");
  }
  EXPECT_EQ(FindBuiltin("rm"), nullptr);
}

TEST(CalculatorTest, Values) {
  const std::pair<const char*, double> cases[] = {
      {"1", 1},         {" 2 * (3 + 4) ", 14}, {"-2^2", -4}, {"2^-1", 0.5}, {"2^3^2", 512},
      {"7 % 4 - 1", 2}, {"1/4", 0.25},         {"- -3", 3},  {"1e3", 1000}, {"10-4-3", 3}};
  for (const auto& [expression, value] : cases) {
    auto result = Calculate(expression);
    ASSERT_TRUE(result.ok()) << expression << ": " << result.status().ToString();
    EXPECT_DOUBLE_EQ(*result, value) << expression;
  }
}

TEST(CalculatorTest, Mistakes) {
  for (const std::string& expression :
       {std::string(""), std::string("1 +"), std::string("1 2"), std::string("(1"),
        std::string("1/0"), std::string("5 % 0"), std::string("x"), std::string("9^9^9^9"),
        std::string(100'000, '('), std::string(4000, '-') + "1"}) {
    EXPECT_FALSE(Calculate(expression).ok()) << expression.substr(0, 20);
  }
}

TEST(CalculatorTest, IntegersStayIntegers) {
  EXPECT_EQ(Call("calculator", {{"expression", "6*7"}}).json, "42");
  EXPECT_EQ(Call("calculator", {{"expression", "1/2"}}).json, "0.5");
  EXPECT_TRUE(Call("calculator", {{"expression", "1/0"}}).is_error);
  EXPECT_TRUE(Call("calculator", {{"expression", 5}}).is_error);
  EXPECT_TRUE(Call("calculator", json::object()).is_error);
}

TEST(CurrentTimeTest, IsIso8601) {
  json output = json::parse(Call("current_time", {{"utc_offset_minutes", 90}}).json);
  EXPECT_EQ(output["time"].get<std::string>().size(), std::string("2026-06-16T14:00:00").size());
  EXPECT_EQ(output["utc_offset_minutes"], 90);
  EXPECT_TRUE(Call("current_time", {{"utc_offset_minutes", 1e300}}).is_error);
  EXPECT_TRUE(Call("current_time", {{"utc_offset_minutes", 1441}}).is_error);
}

TEST(ToolOutputTest, TextBecomesAJsonString) {
  EXPECT_EQ(ToolOutput("a\"b").json, "\"a\\\"b\"");
  EXPECT_EQ(ToolOutput(json{{"a", 1}}).json, R"({"a":1})");
  EXPECT_TRUE(ToolOutput::Error("x").is_error);
  EXPECT_EQ(ToolOutput::FromJsonText("[1]").json, "[1]");
}

}  // namespace
}  // namespace agent_graph::tools
