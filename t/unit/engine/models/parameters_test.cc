#include "models/parameters.h"

#include <gtest/gtest.h>

#include <array>
#include <string_view>

#include "agent_graph/json.h"
#include "models/call_options.h"

namespace agent_graph::models {
namespace {

constexpr std::array<std::string_view, 2> kKnown = {"max_tokens", "temperature"};

// The parameters of a call with `configured` ones and those that its request has `chosen`.
json ParametersOf(json configured, const std::string& chosen) {
  CallOptions options;
  options.parameters_json = chosen;
  ModelRequest request;
  request.options = &options;
  const Status status = SetCallParameters(request, kKnown, configured);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return configured;
}

TEST(CallParameters, KnownOnesAreReplaced) {
  EXPECT_EQ(ParametersOf({{"temperature", 1}}, R"({"temperature":0.5,"unknown":1})"),
            json({{"temperature", 0.5}}));
}

TEST(CallParameters, TheLimitOfTokensIsOnlyLowered) {
  const auto limit = [](const json& configured, const std::string& chosen) {
    return ParametersOf({{"max_tokens", configured}}, R"({"max_tokens":)" + chosen + "}")
        .at("max_tokens")
        .dump();
  };
  EXPECT_EQ(limit(30, "10"), "10");
  EXPECT_EQ(limit(30, "1000"), "30");
  EXPECT_EQ(limit(30, "100000.0"), "30");
  EXPECT_EQ(limit(30, "1e300"), "30");
  EXPECT_EQ(limit(30.0, "1000"), "30.0");
  EXPECT_EQ(limit(30, "10.0"), "10");
}

TEST(CallParameters, TheLimitOfTokensIsAnInteger) {
  EXPECT_EQ(ParametersOf(json::object(), R"({"max_tokens":1e3})").dump(), R"({"max_tokens":1000})");
}

}  // namespace
}  // namespace agent_graph::models
