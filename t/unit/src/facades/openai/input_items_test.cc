#include "facades/openai/input_items.h"

#include <gtest/gtest.h>

#include <string>

#include "agent_graph/json.h"
#include "facades/run/signed_reasoning.h"

namespace agent_graph::openai {
namespace {

const settings::MediaUrls kAllUrls;
constexpr size_t kMessageBytesMax = 1000;
const std::string kPart(400, 'x');

Result<Message> FindNothing(const ItemName&) {
  return NotFound("no such item");
}

// A stored answer of the model.
Result<Message> FindAnswer(const ItemName&) {
  Message answer;
  answer.role = Role::kAssistant;
  answer.content.emplace_back(ReasoningBlock{.summary = kPart});
  return answer;
}

// The locations of the problems of an input whose body has `body_bytes`.
std::vector<std::string> ProblemsOf(const json& input, size_t body_bytes,
                                    const StoredMessageLookup& find = FindNothing) {
  api::Problems problems;
  ReadInput(input, {kAllUrls, body_bytes, kMessageBytesMax}, find, problems);
  std::vector<std::string> places;
  if (problems.empty()) return places;
  for (const auto& detail : std::move(problems).Error().details) {
    std::string& place = places.emplace_back();
    for (const std::string& part : detail.location) place += (place.empty() ? "" : ".") + part;
  }
  return places;
}

json CallItem(const std::string& id) {
  return {{"type", "function_call"},
          {"call_id", id},
          {"name", "f"},
          {"arguments", json{{"a", kPart}}.dump()}};
}

json Reference(ItemKind kind, const std::string& message_id, const std::string& part = "") {
  const ItemName name{.kind = kind, .thread_id = "t", .message_id = message_id, .part = part};
  return {{"type", "item_reference"}, {"id", ItemId(name)}};
}

json UserItem(const std::string& text) {
  return {{"role", "user"}, {"content", text}};
}

// A check after each item would write the message again for each of them.
TEST(ReadInput, ChecksTheSizeOfAMessageOnceAndNamesItsFirstItem) {
  const json input = {UserItem("hi"), CallItem("1"), CallItem("2"), CallItem("3"), CallItem("4")};
  EXPECT_EQ(ProblemsOf(input, input.dump().size()), std::vector<std::string>{"body.input.1"});
}

TEST(ReadInput, ChecksTheSizeOfEachMessage) {
  const json input = {UserItem(kPart + kPart + kPart), UserItem("hi"),
                      UserItem(kPart + kPart + kPart)};
  const std::vector<std::string> places = {"body.input.0", "body.input.2"};
  EXPECT_EQ(ProblemsOf(input, input.dump().size()), places);
}

// The body is small, and what it refers to is not.
TEST(ReadInput, ChecksTheSizeOfWhatReferencesAddUpTo) {
  json input = {UserItem("hi"), Reference(ItemKind::kReasoning, "m1")};
  EXPECT_EQ(ProblemsOf(input, 1, FindAnswer), std::vector<std::string>());
  for (const char* id : {"m2", "m3"}) input.push_back(Reference(ItemKind::kReasoning, id));
  EXPECT_EQ(ProblemsOf(input, 1, FindAnswer), std::vector<std::string>{"body.input.1"});
}

TEST(ReadInput, BeginsAMessageForASecondTextOfTheAssistant) {
  const json text = {{"role", "assistant"}, {"content", "a"}};
  api::Problems problems;
  const std::vector<Message> read = ReadInput({CallItem("1"), text, CallItem("2"), text},
                                              {kAllUrls, 0, 10'000}, FindNothing, problems);
  ASSERT_TRUE(problems.empty());
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].content.size(), 3u);
  EXPECT_EQ(read[1].content.size(), 1u);
}

// The text and the reasoning of a message may have been shown as several items.
TEST(ReadInput, ReferencesToTheItemsOfAMessageBringItOnce) {
  const StoredMessageLookup find = [](const ItemName&) -> Result<Message> {
    Message answer;
    answer.role = Role::kAssistant;
    answer.content.emplace_back(ReasoningBlock{.summary = "a", .details = {}, .signature = "1"});
    answer.content.emplace_back(TextBlock{.text = "one"});
    answer.content.emplace_back(ReasoningBlock{.summary = "b", .details = {}, .signature = "2"});
    answer.content.emplace_back(TextBlock{.text = "two"});
    return answer;
  };
  const json input = {UserItem("hi"), Reference(ItemKind::kReasoning, "m"),
                      Reference(ItemKind::kMessage, "m"), Reference(ItemKind::kReasoning, "m", "1"),
                      Reference(ItemKind::kMessage, "m", "1")};
  api::Problems problems;
  const std::vector<Message> read = ReadInput(input, {kAllUrls, 0, 10'000}, find, problems);
  ASSERT_TRUE(problems.empty());
  ASSERT_EQ(read.size(), 2u);
  ASSERT_EQ(read[1].content.size(), 4u);
  EXPECT_EQ(std::get<ReasoningBlock>(read[1].content[1]).signature, "2");
  EXPECT_EQ(std::get<TextBlock>(read[1].content[2]).text, "one");
}

TEST(ReadInput, AReferenceMayLackItsType) {
  json reference = Reference(ItemKind::kReasoning, "m");
  reference["type"] = nullptr;
  api::Problems problems;
  const std::vector<Message> read =
      ReadInput({reference, UserItem("hi")}, {kAllUrls, 0, 10'000}, FindAnswer, problems);
  ASSERT_TRUE(problems.empty());
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].role, Role::kAssistant);
  const json without_role = {{"id", "m"}, {"content", "hi"}};
  EXPECT_EQ(ProblemsOf(json::array({without_role}), 1),
            std::vector<std::string>{"body.input.0.role"});
  const json call_without_type = {{"id", "m"}, {"call_id", "c"}, {"output", "1"}};
  EXPECT_EQ(ProblemsOf(json::array({call_without_type}), 1, FindAnswer),
            std::vector<std::string>{"body.input.0.role"});
}

TEST(ReadInput, ReferencesToTheResultsOfAMessageBringItOnce) {
  const StoredMessageLookup find = [](const ItemName&) -> Result<Message> {
    Message results = Message::ToolResult("c1", "1");
    results.content.emplace_back(ToolResultBlock{.call_id = "c2", .output_json = "2"});
    return results;
  };
  const json input = {CallItem("c1"), CallItem("c2"), Reference(ItemKind::kCallOutput, "m", "c1"),
                      Reference(ItemKind::kCallOutput, "m", "c2"), UserItem("hi")};
  api::Problems problems;
  const std::vector<Message> read = ReadInput(input, {kAllUrls, 0, 10'000}, find, problems);
  ASSERT_EQ(read.size(), 3u);
  EXPECT_EQ(read[1].ToolResults().size(), 2u);
}

TEST(ReadInput, ReasoningWithSeveralSignaturesIsSeveralBlocks) {
  Message answer;
  answer.content.emplace_back(ReasoningBlock{.summary = "one", .details = {}, .signature = "a"});
  answer.content.emplace_back(ReasoningBlock{.summary = "two", .details = {}, .signature = "b"});
  const json item = {{"type", "reasoning"},
                     {"summary", json::array({{{"type", "summary_text"}, {"text", "onetwo"}}})},
                     {"encrypted_content", facades::SignatureOf(answer)}};
  api::Problems problems;
  const std::vector<Message> read =
      ReadInput({item, UserItem("hi")}, {kAllUrls, 0, 10'000}, FindNothing, problems);
  ASSERT_EQ(read.size(), 2u);
  ASSERT_EQ(read[0].content.size(), 2u);
  EXPECT_EQ(std::get<ReasoningBlock>(read[0].content[0]).summary, "one");
  EXPECT_EQ(std::get<ReasoningBlock>(read[0].content[1]).signature, "b");
}

// A short text may name many blocks.
TEST(ReadInput, TheBlocksOfAllReasoningAreBounded) {
  std::string value = "blocks:[[0,\"s\"]";
  for (int i = 1; i < 900; ++i) value += ",[0,\"s\"]";
  const json item = {{"type", "reasoning"}, {"encrypted_content", value + ']'}};
  api::Problems problems;
  const std::vector<Message> read =
      ReadInput({item, item, item, UserItem("hi")}, {kAllUrls, 0, 10'000}, FindNothing, problems);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].content.size(), 900u);
}

TEST(ReadItems, NamesThePlaceOfTheItems) {
  const json items = {UserItem("hi"), {{"type", "message"}, {"role", "robot"}, {"content", ""}}};
  api::Problems problems;
  ReadItems(items, {"body", "items"}, {kAllUrls, 0, 10'000}, FindNothing, problems);
  const api::ErrorInfo error = std::move(problems).Error();
  ASSERT_EQ(error.details.size(), 1u);
  EXPECT_EQ(error.details[0].location, (Location{"body", "items", "1", "role"}));
}

TEST(ReadItems, TakesNone) {
  api::Problems problems;
  EXPECT_TRUE(
      ReadItems(json::array(), {"body", "items"}, {kAllUrls, 0, 10'000}, FindNothing, problems)
          .empty());
  EXPECT_TRUE(problems.empty());
}

}  // namespace
}  // namespace agent_graph::openai
