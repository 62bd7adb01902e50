// Conversations: the metadata of a thread as that of the protocol, and back.
#include "facades/openai/conversation_object.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "agent_graph/json.h"

namespace agent_graph::openai {
namespace {

constexpr char kStored[] =
    R"({"topic":"rain","size":3,"tags":["a"],"resumption_handle":"h","deleted_responses":{"r":"x"}})";

TEST(ConversationJson, ShowsTheTextsThatUsersHaveStored) {
  state::ThreadRecord thread;
  thread.thread_id = "t";
  thread.created_micros = 1'764'190'000'999'999;
  thread.metadata_json = kStored;
  EXPECT_EQ(json::parse(ConversationJson(thread)), json({{"id", "t"},
                                                         {"object", "conversation"},
                                                         {"created_at", 1'764'190'000},
                                                         {"metadata", {{"topic", "rain"}}}}));
  thread.metadata_json = "";
  EXPECT_EQ(json::parse(ConversationJson(thread)).at("metadata"), json::object());
}

TEST(MetadataChange, ReplacesTheTextsAndNothingElse) {
  json stored = json::parse(kStored);
  const json metadata = {{"user", "Ada"}};
  stored.merge_patch(MetadataChange(kStored, &metadata));
  EXPECT_EQ(stored, json({{"user", "Ada"},
                          {"size", 3},
                          {"tags", {"a"}},
                          {"resumption_handle", "h"},
                          {"deleted_responses", {{"r", "x"}}}}));
  stored.merge_patch(MetadataChange(stored.dump(), nullptr));
  EXPECT_FALSE(stored.contains("user"));
  EXPECT_TRUE(stored.contains("size"));
}

std::vector<std::string> ProblemsOf(const json& metadata) {
  api::Problems problems;
  CheckConversationMetadata({{"metadata", metadata}}, problems);
  std::vector<std::string> found;
  if (problems.empty()) return found;
  for (const api::ErrorDetail& detail : std::move(problems).Error().details) {
    std::string place;
    for (const std::string& part : detail.location) place += (place.empty() ? "" : ".") + part;
    found.push_back(place);
  }
  return found;
}

std::string Repeated(const std::string& text, size_t count) {
  std::string repeated;
  for (size_t i = 0; i < count; ++i) repeated += text;
  return repeated;
}

TEST(CheckConversationMetadata, CountsCharacters) {
  EXPECT_EQ(ProblemsOf(nullptr), std::vector<std::string>());
  EXPECT_EQ(ProblemsOf({{Repeated("é", 64), Repeated("€", 512)}}), std::vector<std::string>());
  EXPECT_EQ(ProblemsOf({{"a", Repeated("é", 513)}}), std::vector<std::string>{"body.metadata.a"});
  EXPECT_EQ(ProblemsOf({{Repeated("é", 65), ""}}), std::vector<std::string>{"body.metadata"});
}

TEST(CheckConversationMetadata, KeepsTheNamesOfTheService) {
  EXPECT_EQ(ProblemsOf({{"deleted_responses", ""}, {"resumption_handle", ""}, {"topic", ""}}),
            (std::vector<std::string>{"body.metadata.deleted_responses",
                                      "body.metadata.resumption_handle"}));
}

}  // namespace
}  // namespace agent_graph::openai
