#include "base/json_weight.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace agent_graph {
namespace {

using json_weight::kContainer;
using json_weight::kElement;
using json_weight::kMember;
using json_weight::kString;

TEST(JsonWeight, LongTextWeighsLittleMoreThanItsSize) {
  const std::string text = '"' + std::string(10'000, 'x') + '"';
  EXPECT_EQ(JsonWeight(text).bytes(), text.size() + kString);
}

TEST(JsonWeight, EachPartOfTheStructureAddsToTheSize) {
  EXPECT_EQ(JsonWeight("1").structure(), 0u);
  EXPECT_EQ(JsonWeight("[]").structure(), kContainer);
  EXPECT_EQ(JsonWeight("[1,2,3]").structure(), kContainer + 2 * kElement);
  EXPECT_EQ(JsonWeight("[[],{}]").structure(), 3 * kContainer + kElement);
  EXPECT_EQ(JsonWeight(R"({"a":1,"b":"c"})").structure(),
            kContainer + kElement + 2 * kMember + 3 * kString);
  EXPECT_EQ(JsonWeight("[1,2,3]").bytes(), 7 + kContainer + 2 * kElement);
}

TEST(JsonWeight, PunctuationInStringsIsText) {
  EXPECT_EQ(JsonWeight(R"(",:[{")").structure(), kString);
  EXPECT_EQ(JsonWeight(R"(["\",\\",1])").structure(), kContainer + kString + kElement);
  EXPECT_EQ(JsonWeight(R"(["\\\",",1])").structure(), kContainer + kString + kElement);
}

TEST(JsonWeight, TheTextMayBeCutAnywhere) {
  constexpr std::string_view kText = R"({"a\"":[1,"\\",{"b,":"\u00e9\\\""}],"c":null})";
  const JsonWeight whole(kText);
  for (size_t cut = 0; cut <= kText.size(); ++cut) {
    JsonWeight weight(kText.substr(0, cut));
    weight.Add(kText.substr(cut));
    EXPECT_EQ(weight.structure(), whole.structure()) << cut;
    EXPECT_EQ(weight.bytes(), whole.bytes()) << cut;
  }
}

TEST(JsonWeight, ValuesThatTheParserRefusesDoNotCount) {
  const std::string text(1'000'000, ',');
  EXPECT_EQ(JsonWeight(text).bytes(10), text.size() + 10 * json_weight::kValueMax);
  EXPECT_EQ(JsonWeight("[1,2]").bytes(10), JsonWeight("[1,2]").bytes());
}

TEST(JsonWeight, AnythingCanBeWeighed) {
  EXPECT_EQ(JsonWeight("").bytes(), 0u);
  EXPECT_EQ(JsonWeight("\"\\").structure(), kString);
  EXPECT_EQ(JsonWeight(std::string_view("\0[,", 3)).structure(), kContainer + kElement);
}

}  // namespace
}  // namespace agent_graph
