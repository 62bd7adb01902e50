#include "message/broken_arguments.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"

namespace agent_graph::message {
namespace {

TEST(BrokenArguments, KeepsWhatTheModelWrote) {
  for (const char* text : {"{\"city\": Oslo", "[1]", "null", "a \"quoted\" text\n"}) {
    const std::string kept = BrokenArguments(text);
    EXPECT_TRUE(AreBroken(json::parse(kept))) << kept;
    EXPECT_EQ(WrittenArguments(kept), text);
  }
}

TEST(BrokenArguments, LeavesOthersAlone) {
  for (const char* arguments : {"{}", R"({"city":"Oslo"})", R"({"INVALID_JSON":1})",
                                R"({"INVALID_JSON":"x","y":1})", R"({"note":"INVALID_JSON"})"}) {
    EXPECT_FALSE(AreBroken(json::parse(arguments))) << arguments;
    EXPECT_EQ(WrittenArguments(arguments), arguments);
  }
}

}  // namespace
}  // namespace agent_graph::message
