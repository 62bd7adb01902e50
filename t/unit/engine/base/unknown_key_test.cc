#include "base/unknown_key.h"

#include <gtest/gtest.h>

namespace agent_graph {
namespace {

constexpr std::string_view kOfAgent[] = {"model", "name", "parameters", "system_prompt"};
constexpr std::string_view kOfTool[] = {"name", "parameters", "url"};
constexpr std::string_view kOfGraph[] = {"edges", "nodes"};

TEST(UnknownKey, NamesTheNearestKey) {
  EXPECT_EQ(AdviceForUnknownKey("prompt", kOfAgent), "did you mean system_prompt?");
  EXPECT_EQ(AdviceForUnknownKey("colour", kOfAgent), "");
}

TEST(UnknownKey, SamplingBelongsInTheParametersOfAModel) {
  EXPECT_EQ(AdviceForUnknownKey("top_p", kOfAgent), "it belongs in parameters: {\"top_p\": …}");
  // The parameters of a tool are a schema.
  EXPECT_EQ(AdviceForUnknownKey("top_p", kOfTool), "");
}

TEST(UnknownKey, AnEdgeLeadsToTheFirstNode) {
  EXPECT_EQ(AdviceForUnknownKey("entry_point", kOfGraph),
            "the edge from START leads to the first node");
  EXPECT_EQ(AdviceForUnknownKey("entry_point", kOfTool), "");
}

}  // namespace
}  // namespace agent_graph
