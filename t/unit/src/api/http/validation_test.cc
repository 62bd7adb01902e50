#include "api/http/validation.h"

#include <gtest/gtest.h>

#include <array>

#include "agent_graph/json.h"
#include "api/http/query.h"

namespace agent_graph::api {
namespace {

TEST(ThreadId, IsKeptUnlessBlankOrBelowOne) {
  for (const char* good : {"a", "1", "+1", "007", "00000000000000000000001", "-a", "1.0", "0x0",
                           " a ", "a/b", "\xc3\xa9", "99999999999999999999999"}) {
    EXPECT_EQ(ThreadIdProblem(good), std::nullopt) << good;
  }
  for (const char* bad : {"", " ", "\t\n", "0", "+0", "-0", "-1", "000", "-999999999999999999999",
                          "\xff", "\xc3", "\xed\xa0\x80", "\xc3 a"}) {
    EXPECT_NE(ThreadIdProblem(bad), std::nullopt) << bad;
  }
  for (const char* step : {".", "..", "a/..", "a/../b", "./a", "/.."}) {
    EXPECT_NE(ThreadIdProblem(step), std::nullopt) << step;
    EXPECT_NE(MessageIdProblem(step), std::nullopt) << step;
    EXPECT_EQ(LabelProblem(step), std::nullopt) << step << " is no part of a path";
  }
  for (const char* blank : {"\u00a0", "\u3000", " \u2003\t\u2028", "\u0085", "\x1f"}) {
    EXPECT_NE(ThreadIdProblem(blank), std::nullopt) << blank;
  }
  EXPECT_EQ(ThreadIdProblem("\u3000x"), std::nullopt);
  EXPECT_EQ(ThreadIdProblem("\u200b"), std::nullopt) << "no white space";
  EXPECT_EQ(ThreadIdProblem(std::string(1024, 'x')), std::nullopt);
  EXPECT_NE(ThreadIdProblem(std::string(1025, 'x')), std::nullopt);
  EXPECT_NE(ThreadIdProblem(std::string("a\0b", 3)), std::nullopt);
}

TEST(MessageId, MayBeAnyText) {
  EXPECT_EQ(MessageIdProblem("0"), std::nullopt);
  EXPECT_EQ(MessageIdProblem("-1"), std::nullopt);
  EXPECT_NE(MessageIdProblem(" "), std::nullopt);
}

TEST(Problems, AreBounded) {
  Problems problems;
  for (int i = 0; i < 1000; ++i) problems.Add({"body"}, "wrong", ProblemType::kValue);
  EXPECT_EQ(std::move(problems).Error().details.size(), kDetailsMax);
}

TEST(Query, DecodesAndTakesTheLast) {
  Query query("a=1&a=2&b=x%20y+z&c&d=%zz%4&&=e&%61%62=3");
  EXPECT_EQ(query.Find("a"), "2");
  EXPECT_EQ(query.Find("b"), "x y z");
  EXPECT_EQ(query.Find("c"), "");
  EXPECT_EQ(query.Find("d"), "%zz%4");
  EXPECT_EQ(query.Find("ab"), "3");
  EXPECT_EQ(query.Find("none"), std::nullopt);
}

TEST(ReadPage, ClampsTheLimit) {
  Problems problems;
  EXPECT_EQ(ReadPage(Query(""), problems).limit, 100u);
  EXPECT_EQ(ReadPage(Query("limit=1"), problems).limit, 1u);
  EXPECT_EQ(ReadPage(Query("limit=5000"), problems).limit, 1000u);
  EXPECT_EQ(ReadPage(Query("limit=99999999999999999999"), problems).limit, 1000u);
  EXPECT_EQ(ReadPage(Query("offset=7&search=a%20b"), problems).offset, 7u);
  EXPECT_EQ(ReadPage(Query("search=a%20b"), problems).search, "a b");
  EXPECT_TRUE(problems.empty());
}

TEST(ReadPage, RefusesOtherTextThanCounts) {
  for (const char* query : {"limit=0", "limit=-1", "limit=abc", "limit=", "limit=1.5", "offset=-1",
                            "offset=x", "limit=%31x"}) {
    Problems problems;
    ReadPage(Query(query), problems);
    ErrorInfo error = std::move(problems).Error();
    ASSERT_EQ(error.details.size(), 1u) << query;
    EXPECT_EQ(error.details[0].location[0], "query");
  }
}

}  // namespace
}  // namespace agent_graph::api
