#include "base/seconds.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"

namespace agent_graph {
namespace {

std::string Long(int64_t micros) {
  std::string text = "t";
  AppendSeconds(text, micros);
  return text;
}

std::string Short(int64_t micros) {
  std::string text = "t";
  AppendShortSeconds(text, micros);
  return text;
}

TEST(Seconds, HasSixDigits) {
  EXPECT_EQ(Long(1'781'611'200'250'000), "t1781611200.250000");
  EXPECT_EQ(Long(1), "t0.000001");
  EXPECT_EQ(Long(0), "t0.000000");
}

TEST(Seconds, IsAsShortAsItCanBe) {
  EXPECT_EQ(Short(1'781'611'200'250'000), "t1781611200.25");
  EXPECT_EQ(Short(1'781'611'200'000'000), "t1781611200");
  EXPECT_EQ(Short(10'000'001), "t10.000001");
  EXPECT_EQ(Short(0), "t0");
}

TEST(Seconds, ReadsBackAsTheSameNumber) {
  for (int64_t micros = 1'781'611'200'000'000; micros < 1'781'611'201'000'000; micros += 997) {
    EXPECT_EQ(json::parse(Short(micros).substr(1)).get<double>(),
              static_cast<double>(micros) / 1e6);
  }
}

}  // namespace
}  // namespace agent_graph
