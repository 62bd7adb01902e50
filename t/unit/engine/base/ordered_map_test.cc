#include "agent_graph/ordered_map.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "agent_graph/json.h"
#include "base/json.h"

namespace agent_graph {
namespace {

// Above this size an object has an index.
constexpr int kMany = 1000;

std::string Name(int number) {
  return "k" + std::to_string(number * 7919 % 100'003);
}

json ObjectOf(int members) {
  json object = json::object();
  for (int i = 0; i < members; ++i) object[Name(i)] = i;
  return object;
}

TEST(OrderedMap, MembersStayInTheOrderOfTheText) {
  const std::string text = R"({"b":1,"a":{"z":1,"y":[{"d":1,"c":2}]},"c":3})";
  EXPECT_EQ(ParseJson(text)->dump(), text);
  json value = json::parse(text);
  value["a"]["x"] = 2;
  value["b"] = 4;
  EXPECT_EQ(value.dump(), R"({"b":4,"a":{"z":1,"y":[{"d":1,"c":2}],"x":2},"c":3})");
}

TEST(OrderedMap, AMemberIsFoundInSmallAndLargeObjects) {
  for (int members : {1, 16, 17, kMany}) {
    const json object = ObjectOf(members);
    ASSERT_EQ(object.size(), static_cast<size_t>(members));
    for (int i = 0; i < members; ++i) EXPECT_EQ(object.at(Name(i)), i);
    EXPECT_FALSE(object.contains("none"));
    EXPECT_EQ(object.find("none"), object.end());
    EXPECT_THROW((void)object.at("none"), json::out_of_range);
  }
}

TEST(OrderedMap, ErasedMembersLeaveTheOthersInPlace) {
  json object = ObjectOf(kMany);
  for (int i = 0; i < kMany; i += 2) EXPECT_EQ(object.erase(Name(i)), 1u);
  EXPECT_EQ(object.erase("none"), 0u);
  EXPECT_EQ(object.size(), static_cast<size_t>(kMany) / 2);
  EXPECT_EQ(object.begin().key(), Name(1));
  object[Name(0)] = "again";
  EXPECT_EQ(std::prev(object.end()).key(), Name(0));
  object.erase(object.begin());
  EXPECT_EQ(object.begin().key(), Name(3));
  EXPECT_FALSE(object.contains(Name(1)));
}

TEST(OrderedMap, CopiesAndMovesKeepTheirOwnIndex) {
  json object = ObjectOf(kMany);
  json copy = object;
  object.clear();
  EXPECT_EQ(copy.at(Name(7)), 7);
  json moved = std::move(copy);
  EXPECT_EQ(moved.at(Name(8)), 8);
  moved["new"] = 1;
  copy = moved;
  moved = json::object();
  EXPECT_EQ(copy.at("new"), 1);
  EXPECT_EQ(copy.size(), static_cast<size_t>(kMany) + 1);
}

TEST(OrderedMap, AMovedMapIsEmptyAndCanBeUsed) {
  OrderedMap<std::string, int> map = {{"b", 1}, {"a", 2}};
  const OrderedMap<std::string, int> other = std::move(map);
  EXPECT_TRUE(map.empty());  // NOLINT: tests the state after a move
  map["c"] = 3;
  EXPECT_EQ(map.size(), 1u);
  EXPECT_EQ(other.at("a"), 2);
}

TEST(OrderedMap, EqualityAndOrderDoNotDependOnTheOrderOfMembers) {
  const json a = json::parse(R"({"x":1,"y":{"a":1,"b":2}})");
  const json b = json::parse(R"({"y":{"b":2,"a":1},"x":1})");
  EXPECT_EQ(a, b);
  EXPECT_FALSE(a < b);
  EXPECT_FALSE(b < a);
  EXPECT_EQ(DumpSortedJson(a), DumpSortedJson(b));
  EXPECT_NE(a, json::parse(R"({"x":1,"y":{"a":1,"b":3}})"));
  EXPECT_NE(a, json::parse(R"({"x":1})"));
  EXPECT_LT(json::parse(R"({"b":9,"a":1})"), json::parse(R"({"a":2})"));
}

TEST(OrderedMap, ATextWithAKeyTwiceKeepsTheFirstPlaceAndTheLastValue) {
  EXPECT_EQ(ParseJson(R"({"a":1,"b":2,"a":3})")->dump(), R"({"a":3,"b":2})");
}

TEST(OrderedMap, MergePatchesKeepTheOrder) {
  json target = json::parse(R"({"z":1,"m":{"b":1,"a":2},"a":3})");
  target.merge_patch(json::parse(R"({"m":{"b":null,"c":4},"z":0,"new":5})"));
  EXPECT_EQ(target.dump(), R"({"z":0,"m":{"a":2,"c":4},"a":3,"new":5})");
}

}  // namespace
}  // namespace agent_graph
