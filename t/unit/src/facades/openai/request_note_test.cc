// The note of a request, and how its response came to its thread.
#include "facades/openai/request_note.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"
#include "facades/openai/object_ids.h"

namespace agent_graph::openai {
namespace {

ResponseOrigin OriginOfRequest(const json& body, const std::string& conversation = "") {
  return OriginOf(RequestNote(body, true, conversation), "t");
}

TEST(RequestNote, SaysHowTheResponseCameToItsThread) {
  EXPECT_EQ(OriginOfRequest({{"input", "x"}}), ResponseOrigin::kNewThread);
  EXPECT_EQ(OriginOfRequest({{"input", "x"}}, "t"), ResponseOrigin::kConversation);
  EXPECT_EQ(OriginOfRequest({{"conversation", {{"id", "t"}}}}), ResponseOrigin::kConversation);
  EXPECT_EQ(OriginOfRequest({{"previous_response_id", ResponseId({"t", "r"})}}),
            ResponseOrigin::kResponse);
  EXPECT_EQ(OriginOfRequest({{"previous_response_id", ResponseId({"other", "r"})}}),
            ResponseOrigin::kNewThread)
      << "a branch has a thread of its own";
}

TEST(RequestNote, ARunWithoutOneIsOfAConversation) {
  for (const char* note : {"", "null", "[]", "{"}) {
    EXPECT_EQ(OriginOf(note, "t"), ResponseOrigin::kConversation) << note;
  }
}

// Programs find the calls of their tools by these names, also if the tools themselves are too
// large.
TEST(RequestNote, KeepsTheNamesOfLargeTools) {
  const std::string large(70'000, 'x');
  const json tools = {{{"type", "function"}, {"name", "weather"}, {"description", large}},
                      {{"type", "function"}, {"name", large}},  // not one of allowed_tools
                      {{"type", "web_search"}, {"name", "search"}}};
  const json note = json::parse(RequestNote({{"tools", tools}}, true, ""));
  EXPECT_EQ(note["tools"], json::array({{{"type", "function"},
                                         {"name", "weather"},
                                         {"parameters", nullptr},
                                         {"strict", nullptr}}}));
}

}  // namespace
}  // namespace agent_graph::openai
