#include "base/ids.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "base/clock.h"

namespace agent_graph {
namespace {

const std::regex& UuidForm() {
  static const std::regex form(
      "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
  return form;
}

int64_t MillisOf(const std::string& uuid) {
  return std::stoll(uuid.substr(0, 8) + uuid.substr(9, 4), nullptr, 16);
}

TEST(Ids, HaveTheFormOfUuidsOfVersion4) {
  EXPECT_TRUE(std::regex_match(NewUuid(), UuidForm()));
  EXPECT_TRUE(std::regex_match(NewOrderedUuid(), UuidForm()));
}

TEST(Ids, BeginWithTheTimeIfTheyAreOrdered) {
  const int64_t before = UnixMicros() / 1000;
  const std::string uuid = NewOrderedUuid();
  EXPECT_GE(MillisOf(uuid), before);
  EXPECT_LE(MillisOf(uuid), UnixMicros() / 1000);
}

TEST(Ids, DifferWithinAMillisecond) {
  std::set<std::string> ids;
  for (int i = 0; i < 10'000; ++i) ids.insert(NewOrderedUuid());
  EXPECT_EQ(ids.size(), 10'000U);
}

}  // namespace
}  // namespace agent_graph
