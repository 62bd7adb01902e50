#include "tools/call/text_format.h"

#include <gtest/gtest.h>

#include <vector>

#include "agent_graph/json.h"
#include "tools/call/call_input.h"

namespace agent_graph::tools {
namespace {

TEST(TextFormatTest, KnowsTheFormatsOfForms) {
  const struct {
    const char* format;
    std::vector<const char*> valid;
    std::vector<const char*> invalid;
  } formats[] = {
      {"email",
       {"a@b.co", "ann+x@localhost", "ö@exämple.org", "\"a@b\"@c"},
       {"", "nope", "@b.co", "a@", "a b@c.de", "a@.b", "a@b.", "a@b..c"}},
      {"uri",
       {"https://a.example/x?y#z", "urn:isbn:1", "mailto:a@b"},
       {"", "nope", "/path", "1a:b", ":x", "http:", "http://a b"}},
      {"date",
       {"2026-11-28", "2024-02-29"},
       {"", "2026-02-29", "2026-13-01", "2026-00-10", "2026-1-1", "28.11.2026", "2026-11-28T"}},
      {"date-time",
       {"2026-11-28T20:30:00Z", "2026-11-28t20:30:60.125+01:00", "2026-11-28 20:30:00-23:59"},
       {"2026-11-28", "2026-11-28T20:30:00", "2026-11-28T24:00:00Z", "2026-11-28T20:30Z",
        "2026-11-28T20:30:00.Z", "2026-11-28T20:30:00+24:00", "2026-11-28X20:30:00Z"}},
      {"of-somebody", {"anything", ""}, {}},
  };
  for (const auto& [format, valid, invalid] : formats) {
    for (const char* text : valid) EXPECT_TRUE(HasFormat(text, format)) << format << ": " << text;
    for (const char* text : invalid) {
      EXPECT_FALSE(HasFormat(text, format)) << format << ": " << text;
    }
  }
}

TEST(TextFormatTest, AFormMustHaveTheFormatsOfItsSchema) {
  Question question;
  question.schema = json::parse(
      R"({"type":"object","properties":{"mail":{"type":"string","format":"email"},
          "day":{"type":"string","format":"date"}},"required":["mail"]})");
  const auto answer = [&](const json& content) {
    return ReadAnswer(question, {{"action", "accept"}, {"content", content}}).status().message();
  };
  EXPECT_EQ(answer({{"mail", "a@b.co"}}), "");
  EXPECT_EQ(answer({{"mail", "a@b.co"}, {"day", "2026-11-28"}}), "");
  EXPECT_EQ(answer({{"mail", "nope"}}), "content: mail: must have the format email");
  EXPECT_EQ(answer({{"mail", "a@b.co"}, {"day", "soon"}}),
            "content: day: must have the format date");
}

}  // namespace
}  // namespace agent_graph::tools
