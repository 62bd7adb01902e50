#include "facades/openai/input_items.h"

#include <gtest/gtest.h>

#include <string>

#include "agent_graph/json.h"

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
  const std::string id =
      ItemId({.kind = ItemKind::kReasoning, .thread_id = "t", .message_id = "m", .part = ""});
  const json reference = {{"type", "item_reference"}, {"id", id}};
  json input = {UserItem("hi"), reference};
  EXPECT_EQ(ProblemsOf(input, 1, FindAnswer), std::vector<std::string>());
  input.insert(input.end(), {reference, reference});
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

}  // namespace
}  // namespace agent_graph::openai
