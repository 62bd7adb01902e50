#include "base/recent_map.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace agent_graph {
namespace {

TEST(RecentMap, EvictsTheEntryThatWasUsedLeastRecently) {
  RecentMap<std::string, int> map(2);
  map.Put("one", 1);
  map.Put("two", 2);
  ASSERT_NE(map.Find("one"), nullptr);
  map.Put("three", 3);
  EXPECT_EQ(map.Find("two"), nullptr);
  EXPECT_EQ(*map.Find("one"), 1);
  EXPECT_EQ(*map.Find("three"), 3);
  EXPECT_EQ(map.size(), 2u);
}

TEST(RecentMap, PeekIsNoUse) {
  RecentMap<std::string, int> map(2);
  map.Put("one", 1);
  map.Put("two", 2);
  EXPECT_EQ(*map.Peek("one"), 1);
  map.Put("three", 3);
  EXPECT_EQ(map.Peek("one"), nullptr);
}

TEST(RecentMap, PutReplacesAValueAndIsAUse) {
  RecentMap<std::string, std::unique_ptr<int>> map(2);
  map.Put("one", std::make_unique<int>(1));
  map.Put("two", std::make_unique<int>(2));
  map.Put("one", std::make_unique<int>(11));
  map.Put("three", std::make_unique<int>(3));
  EXPECT_EQ(**map.Peek("one"), 11);
  EXPECT_EQ(map.Peek("two"), nullptr);
}

TEST(RecentMap, ErasesWhatItHas) {
  RecentMap<std::string, int> map(2);
  map.Put("one", 1);
  map.Erase("none");
  map.Erase("one");
  EXPECT_EQ(map.Find("one"), nullptr);
  EXPECT_EQ(map.size(), 0u);
}

}  // namespace
}  // namespace agent_graph
