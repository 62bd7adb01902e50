#include "base/seconds.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"

namespace agent_graph {
namespace {

std::string Long(int64_t micros) {
  return std::string(SecondsText(micros).full());
}

std::string Short(int64_t micros) {
  return std::string(SecondsText(micros).shortest());
}

TEST(Seconds, HasSixDigits) {
  EXPECT_EQ(Long(1'781'611'200'250'000), "1781611200.250000");
  EXPECT_EQ(Long(1), "0.000001");
  EXPECT_EQ(Long(0), "0.000000");
}

TEST(Seconds, IsAsShortAsItCanBe) {
  EXPECT_EQ(Short(1'781'611'200'250'000), "1781611200.25");
  EXPECT_EQ(Short(1'781'611'200'000'000), "1781611200");
  EXPECT_EQ(Short(10'000'001), "10.000001");
  EXPECT_EQ(Short(0), "0");
}

TEST(Seconds, ReadsBackAsTheSameNumber) {
  for (int64_t micros = 1'781'611'200'000'000; micros < 1'781'611'201'000'000; micros += 997) {
    EXPECT_EQ(json::parse(Short(micros)).get<double>(), static_cast<double>(micros) / 1e6);
  }
}

}  // namespace
}  // namespace agent_graph
