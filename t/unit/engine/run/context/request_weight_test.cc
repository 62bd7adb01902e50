#include "run/context/request_weight.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/json_weight.h"

namespace agent_graph::run {
namespace {

uint64_t WeightOfConfig(const json& config) {
  RunRequest request;
  request.config = std::make_shared<const json>(config);
  return WeightBesideMessages(request);
}

TEST(RequestWeightTest, AConfigWeighsAboutAsMuchAsItsText) {
  json deep = "text";
  for (int i = 0; i < 60; ++i) deep = json{{"key", json::array({deep})}};
  for (const json& config : {
           json::object(),
           json{{"thread_id", "t-1"}, {"user", {{"id", "u-1"}, {"admin", false}}}},
           json{{"text", std::string(10'000, 'x')}},
           json{{"numbers", std::vector<int>(1000, 12345678)}},
           json{{"texts", std::vector<std::string>(1000, "a")}},
           deep,
       }) {
    const auto expected = static_cast<double>(JsonWeight(DumpJson(config)).bytes());
    EXPECT_NEAR(static_cast<double>(WeightOfConfig(config)), expected, 32 + expected / 8)
        << DumpJson(config).substr(0, 100);
  }
}

}  // namespace
}  // namespace agent_graph::run
