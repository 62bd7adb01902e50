// Outputs of tools that are content blocks of the protocol, and others that only look like them.
#include "facades/mcp/tool_content.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"
#include "facades/mcp/peer.h"

namespace agent_graph::mcp {
namespace {

bool AreContent(const char* text, std::string_view revision = kStatelessRevision) {
  return IsContent(json::parse(text), revision);
}

TEST(ToolContent, BlocksWithAllMembersAreContent) {
  EXPECT_TRUE(AreContent(R"([{"type":"text","text":""}])"));
  EXPECT_TRUE(AreContent(R"([{"type":"image","data":"aGk=","mimeType":"image/png"},
      {"type":"audio","data":"","mimeType":"audio/wav","annotations":{"priority":1}}])"));
  EXPECT_TRUE(AreContent(R"([{"type":"resource","resource":{"uri":"test://a","text":"x"}},
      {"type":"resource","resource":{"uri":"file:///a","blob":"aGk=","mimeType":"a/b"}}])"));
  EXPECT_TRUE(AreContent(R"([{"type":"resource_link","uri":"https://a/b","name":"b"}])"));
}

TEST(ToolContent, AnOlderRevisionHasFewerTypes) {
  const char* const sound = R"([{"type":"audio","data":"aGk=","mimeType":"audio/wav"}])";
  EXPECT_TRUE(AreContent(sound, "2025-03-26"));
  EXPECT_FALSE(AreContent(sound, "2024-11-05"));
  const char* const link = R"([{"type":"resource_link","uri":"https://a/b","name":"b"}])";
  EXPECT_TRUE(AreContent(link, "2025-06-18"));
  EXPECT_FALSE(AreContent(link, "2025-03-26"));
  EXPECT_TRUE(AreContent(R"([{"type":"text","text":"x"}])", "2024-11-05"));
}

TEST(ToolContent, OtherListsAreNot) {
  for (const char* text : {
           R"([])",
           R"({"type":"text","text":"x"})",
           R"(["x"])",
           R"([{"type":"text","value":1}])",
           R"([{"type":"text","text":null}])",
           R"([{"type":"text","text":"x"},{"type":"text"}])",
           R"([{"type":"text","text":"x","_meta":null}])",
           R"([{"type":"image","url":"https://a/b.png"}])",
           R"([{"type":"image","data":"aGk="}])",
           R"([{"type":"image","data":"not base64!","mimeType":"image/png"}])",
           R"([{"type":"audio","mimeType":"audio/wav"}])",
           R"([{"type":"resource","resource":"test://a"}])",
           R"([{"type":"resource","resource":{"uri":"test://a"}}])",
           R"([{"type":"resource","resource":{"uri":"a","text":"x"}}])",
           R"([{"type":"resource","resource":{"uri":"test://a","text":"x","mimeType":null}}])",
           R"([{"type":"resource_link","uri":"https://a/b"}])",
           R"([{"type":"resource_link","uri":"/b","name":"b"}])",
           R"([{"type":"video","data":"aGk=","mimeType":"video/mp4"}])",
       }) {
    EXPECT_FALSE(AreContent(text)) << text;
  }
}

}  // namespace
}  // namespace agent_graph::mcp
