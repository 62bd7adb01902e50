#include "base/words.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace agent_graph {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  ForEachWord(text, [&](std::string_view word) { words.emplace_back(word); });
  return words;
}

TEST(Words, AreLettersAndDigitsInLowerCase) {
  EXPECT_THAT(Words("The quick (brown) FOX, no. 42!"),
              ElementsAre("the", "quick", "brown", "fox", "no", "42"));
  EXPECT_THAT(Words("don't"), ElementsAre("dont"));
  EXPECT_THAT(Words(" …—  \t\n"), IsEmpty());
  EXPECT_THAT(Words(""), IsEmpty());
}

TEST(Words, KnowOtherScripts) {
  EXPECT_THAT(Words("Él comió ÑANDÚ"), ElementsAre("él", "comió", "ñandú"));
  EXPECT_THAT(Words("добрый день"), ElementsAre("добрый", "день"));
  EXPECT_THAT(Words("東京 tower"), ElementsAre("東", "京", "tower"));
}

TEST(Words, AreCutAndSurviveBrokenText) {
  EXPECT_EQ(Words(std::string(1000, 'a')).at(0).size(), 64u);
  EXPECT_THAT(Words("ok \xe6"), ElementsAre("ok"));
  EXPECT_THAT(Words("\x80\x80"), IsEmpty());
}

TEST(Words, LoseTheirPlural) {
  EXPECT_EQ(SearchForm("cats"), "cat");
  EXPECT_EQ(SearchForm("likes"), "like");
  EXPECT_EQ(SearchForm("class"), "class");
  EXPECT_EQ(SearchForm("this"), "this");
  EXPECT_EQ(SearchForm("us"), "us");
}

TEST(Words, HaveOneFormForSingularAndPlural) {
  for (const auto& [one, many] : {std::pair("cat", "cats"),
                                  {"city", "cities"},
                                  {"movie", "movies"},
                                  {"day", "days"},
                                  {"pie", "pies"},
                                  {"sky", "skies"}}) {
    EXPECT_EQ(WordForm(one), WordForm(many));
  }
  EXPECT_NE(WordForm("city"), WordForm("cite"));
  EXPECT_EQ(WordForm("is"), "is");
}

}  // namespace
}  // namespace agent_graph
