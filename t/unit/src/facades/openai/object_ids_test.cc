#include "facades/openai/object_ids.h"

#include <gtest/gtest.h>

namespace agent_graph::openai {
namespace {

TEST(ObjectIds, AResponseIsFoundByItsId) {
  for (const std::string thread : {"t", "a thread/of a user", "\xc3\xa4"}) {
    const std::string id = ResponseId({thread, "0d6a4a0f-1c11"});
    EXPECT_EQ(
        id.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"),
        std::string::npos);
    const auto name = ParseResponseId(id);
    ASSERT_TRUE(name) << thread;
    EXPECT_EQ(name->thread_id, thread);
    EXPECT_EQ(name->run_id, "0d6a4a0f-1c11");
  }
}

TEST(ObjectIds, WhatIsNotStoredHasAnIdThatNamesNothing) {
  EXPECT_FALSE(ParseResponseId(ResponseId({"", "r"})));
  EXPECT_FALSE(ParseItemId(ItemId({ItemKind::kMessage, "", "m", ""})));
}

TEST(ObjectIds, AnItemIsAPartOfAMessage) {
  for (const ItemKind kind :
       {ItemKind::kMessage, ItemKind::kReasoning, ItemKind::kCall, ItemKind::kCallOutput}) {
    const auto name = ParseItemId(ItemId({kind, "t", "m", "call_1"}));
    ASSERT_TRUE(name);
    EXPECT_EQ(name->kind, kind);
    EXPECT_EQ(name->message_id, "m");
    EXPECT_EQ(name->part, "call_1");
  }
}

TEST(ObjectIds, OtherTextsAreNoIds) {
  const std::string id = ResponseId({"t", "r"});
  for (const std::string& text :
       {std::string(), std::string("resp_"), id + "A", id.substr(5), std::string("resp_A"),
        std::string("resp_!"), "resp_" + std::string(5000, 'A'), std::string("msg_dABy")}) {
    EXPECT_FALSE(ParseResponseId(text)) << text;
  }
  // An encoding with other bits behind the last byte names the same bytes, but is another id.
  std::string other = id;
  other.back() = static_cast<char>(other.back() + 1);
  const auto read = ParseResponseId(other);
  EXPECT_TRUE(!read || read->run_id != "r");
}

}  // namespace
}  // namespace agent_graph::openai
