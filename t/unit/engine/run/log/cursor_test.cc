#include "run/log/cursor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace agent_graph::run {
namespace {

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

TEST(Cursor, IsReadBack) {
  for (const Cursor& cursor :
       {Cursor{}, Cursor{1, 2, 3, 4, 5}, Cursor{kMax, kMax, kMax, kMax, kMax}}) {
    EXPECT_EQ(ParseCursor(CursorText(cursor)), cursor);
  }
}

TEST(Cursor, TextsHaveOneWidthAndSortLikePositions) {
  const std::vector<Cursor> ascending = {{1, 0, 0, 0, 0},    {1, 1, 9, 0, 0},   {1, 1, 10, 0, 0},
                                         {1, 1, 10, 0, 31},  {1, 1, 10, 1, 0},  {1, 1, 32, 0, 0},
                                         {1, 2, 5, 0, kMax}, {2, kMax, 0, 0, 0}};
  for (size_t i = 1; i < ascending.size(); ++i) {
    const std::string before = CursorText(ascending[i - 1]);
    const std::string after = CursorText(ascending[i]);
    EXPECT_EQ(before.size(), after.size());
    EXPECT_LT(before, after);
  }
}

TEST(Cursor, OtherTextIsNotACursor) {
  const std::string text = CursorText({1, 2, 3, 4, 5});
  EXPECT_FALSE(ParseCursor(""));
  EXPECT_FALSE(ParseCursor("-1"));
  EXPECT_FALSE(ParseCursor(text + "0"));
  EXPECT_FALSE(ParseCursor(text.substr(1)));
  std::string foreign = text;
  foreign[5] = 'w';
  EXPECT_FALSE(ParseCursor(foreign));
  std::string overflow = text;
  overflow[0] = 'g';
  EXPECT_FALSE(ParseCursor(overflow));
}

}  // namespace
}  // namespace agent_graph::run
