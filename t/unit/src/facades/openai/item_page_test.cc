// ItemPage: which items a page has, and its list object.
#include "facades/openai/item_page.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "agent_graph/json.h"

namespace agent_graph::openai {
namespace {

std::string Item(const std::string& id) {
  return R"({"id":")" + id + R"("})";
}

TEST(ItemPage, EndsAtItsLimit) {
  ItemPage page(2, 1000);
  page.Take({Item("a")});
  page.Take({Item("b")});
  EXPECT_FALSE(page.has_more());
  page.Take({Item("c")});
  EXPECT_TRUE(page.has_more());
  EXPECT_EQ(json::parse(page.Json()), json({{"object", "list"},
                                            {"data", {{{"id", "a"}}, {{"id", "b"}}}},
                                            {"first_id", "a"},
                                            {"last_id", "b"},
                                            {"has_more", true}}));
}

TEST(ItemPage, HasAnItemOfAnySizeAndNoneBehindOneThatDidNotFit) {
  ItemPage page(10, Item("a").size());
  page.Take({Item("a long one"), Item("b")});
  page.Take({Item("c")});
  EXPECT_TRUE(page.has_more());
  EXPECT_EQ(json::parse(page.Json()).at("last_id"), "a long one");
}

TEST(ItemPage, MayBeEmpty) {
  const json list = json::parse(ItemPage().Json());
  EXPECT_EQ(list.at("data"), json::array());
  EXPECT_TRUE(list.at("first_id").is_null() && list.at("last_id").is_null());
  EXPECT_EQ(list.at("has_more"), false);
}

TEST(RemoveThrough, LeavesTheItemsBehind) {
  std::vector<std::string> items = {Item("a"), Item("b"), Item("c")};
  EXPECT_FALSE(RemoveThrough("d", items));
  EXPECT_EQ(items.size(), 3U);
  EXPECT_TRUE(RemoveThrough("b", items));
  EXPECT_EQ(items, std::vector<std::string>{Item("c")});
}

TEST(RemoveThrough, RemovesAllItemsWithTheId) {
  std::vector<std::string> items = {Item("a"), Item("a"), Item("b")};
  EXPECT_TRUE(RemoveThrough("a", items));
  EXPECT_EQ(items, std::vector<std::string>{Item("b")});
}

}  // namespace
}  // namespace agent_graph::openai
