#include "multipart/parser.h"

#include <gtest/gtest.h>

#include <vector>

#include "multipart/part_head.h"

namespace agent_graph::multipart {
namespace {

using Event = Parser::Event;

struct Seen {
  std::vector<std::pair<Part, std::string>> parts;
  bool ended = false;
  std::string error;
};

// Output of the parser for `text` in pieces of `size` bytes.
Seen Parse(std::string_view text, size_t size, Limits limits = {}) {
  Parser parser("XX", limits);
  Seen seen;
  bool open = false;
  for (;;) {
    switch (parser.Next()) {
      case Event::kNeedMore:
        if (text.empty()) return seen;
        parser.Feed(text.substr(0, size));
        text.remove_prefix(std::min(size, text.size()));
        break;
      case Event::kPart:
        EXPECT_FALSE(open);
        open = true;
        seen.parts.emplace_back(parser.part(), "");
        break;
      case Event::kData:
        EXPECT_TRUE(open);
        EXPECT_FALSE(parser.data().empty());
        seen.parts.back().second += parser.data();
        break;
      case Event::kPartEnd:
        EXPECT_TRUE(open);
        open = false;
        break;
      case Event::kEnd:
        EXPECT_FALSE(open);
        seen.ended = true;
        return seen;
      case Event::kError:
        seen.error = parser.error();
        return seen;
    }
  }
}

std::string File(const std::string& data) {
  return "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.bin\"\r\n"
         "Content-Type: image/png; x=y\r\n\r\n" +
         data + "\r\n--XX--\r\n";
}

TEST(Parser, FindsPartsInEveryCut) {
  const std::string data = "a\r\n--X\r\n--\r\r\n-\r\n--XY" + std::string(1, '\0') + "\xff\r\n";
  const std::string text =
      "preamble\r\n--XX \t\r\ncontent-disposition:form-data;name=note\r\n\r\n"
      "hello\r\n" +
      File(data) + "epilogue --XX";
  for (size_t size = 1; size <= text.size(); ++size) {
    Seen seen = Parse(text, size);
    ASSERT_EQ(seen.error, "") << size;
    ASSERT_TRUE(seen.ended) << size;
    ASSERT_EQ(seen.parts.size(), 2u) << size;
    EXPECT_EQ(seen.parts[0].first.name, "note");
    EXPECT_EQ(seen.parts[0].first.filename, std::nullopt);
    EXPECT_EQ(seen.parts[0].second, "hello");
    EXPECT_EQ(seen.parts[1].first.filename, "a.bin");
    EXPECT_EQ(seen.parts[1].first.content_type, "image/png; x=y");
    ASSERT_EQ(seen.parts[1].second, data) << size;
  }
}

TEST(Parser, EmptyParts) {
  for (size_t size : {1, 3, 1000}) {
    EXPECT_EQ(Parse(File(""), size).parts.at(0).second, "");
    Seen tight = Parse("--XX\r\nContent-Disposition: form-data; name=a\r\n\r\n--XX--", size);
    EXPECT_TRUE(tight.ended);
    EXPECT_EQ(tight.parts.at(0).second, "");
    Seen none = Parse("--XX--", size);
    EXPECT_TRUE(none.ended);
    EXPECT_TRUE(none.parts.empty());
  }
}

TEST(Parser, CutShortIsNoEnd) {
  const std::string text = File("data");
  for (size_t length = 0; length < text.size() - 4; ++length) {
    Seen seen = Parse(text.substr(0, length), 7);
    EXPECT_FALSE(seen.ended) << length;
    EXPECT_EQ(seen.error, "") << length;
  }
}

TEST(Parser, RefusesMalformedInput) {
  struct {
    std::string text;
    const char* error;
  } cases[] = {
      {"--XXY\r\n\r\n", "a boundary is not at the end of its line"},
      {"--XX-\r\n\r\n", "a boundary is not at the end of its line"},
      {"--XX" + std::string(300, ' ') + "\r\n", "a boundary line is too long"},
      {"--XX\r\n\r\ndata\r\n--XX--", "a part has no disposition"},
      {"--XX\r\nContent-Disposition: form-data\r\n\r\n", "a part has no name"},
      {"--XX\r\nContent-Disposition: attachment; name=a\r\n\r\n", "a part is not form-data"},
      {"--XX\r\nContent-Disposition: form-data; name=a\r\ncontent-disposition: form-data; "
       "name=b\r\n\r\n",
       "a part has two dispositions"},
      {"--XX\r\nno colon\r\n\r\n", "a part has a malformed header field"},
      {"--XX\r\nContent-Disposition: form-data; name=a\nb: c\r\n\r\n",
       "a part has a malformed header field"},
      {"--XX\r\nX: " + std::string(9000, 'x'), "the head of a part is too long"},
      {"--XX\r\nContent-Disposition: form-data; name=" + std::string(2000, 'x') + "\r\n\r\n",
       "the name of a part is too long"},
  };
  for (const auto& [text, error] : cases) {
    for (size_t size : {1, 5, 100000}) EXPECT_EQ(Parse(text, size).error, error);
  }
}

// Random sequences of tokens that matter to the parser; the result must not depend on the cuts.
TEST(Parser, SeesTheSameInAnyCuts) {
  constexpr std::string_view kWords[] = {
      "\r\n",
      "\r",
      "\n",
      "--XX",
      "\r\n--XX",
      "\r\n--XX--",
      "--",
      "-",
      "X",
      " ",
      "\t",
      "data",
      "\r\n\r\n",
      "--XX\r\nContent-Disposition: form-data; name=a\r\n\r\n",
      "\r\n--XX\r\ncontent-disposition: form-data; name=\"f\"; filename=\"x\"\r\n\r\n"};
  uint32_t random = 1;
  auto next = [&] { return random = random * 1664525 + 1013904223, random >> 8; };
  size_t ended = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = round % 2 == 0 ? "" : std::string(kWords[13]);
    for (uint32_t words = next() % 12; words > 0; --words) text += kWords[next() % 15];
    Seen whole = Parse(text, text.size() + 1);
    for (size_t size : {size_t{1}, size_t{2}, size_t{3 + next() % 7}}) {
      Seen cut = Parse(text, size);
      ASSERT_EQ(cut.ended, whole.ended) << text;
      ASSERT_EQ(cut.error, whole.error) << text;
      ASSERT_EQ(cut.parts.size(), whole.parts.size()) << text;
      for (size_t i = 0; whole.ended && i < whole.parts.size(); ++i) {
        ASSERT_EQ(cut.parts[i].second, whole.parts[i].second) << text;
      }
    }
    if (whole.ended) ++ended;
  }
  EXPECT_GT(ended, 1000u);
}

TEST(Parser, BoundsTheNumberOfParts) {
  std::string text;
  for (int i = 0; i < 3; ++i) text += "--XX\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n";
  Limits limits;
  limits.parts_max = 2;
  EXPECT_EQ(Parse(text + "--XX--", 4, limits).error, "there are too many parts");
  limits.parts_max = 3;
  EXPECT_TRUE(Parse(text + "--XX--", 4, limits).ended);
}

std::optional<std::string> Parameter(std::string_view value, std::string_view name) {
  return FindParameter(ParseParameters(value).value(), name);
}

TEST(Parameters, OfADisposition) {
  constexpr std::string_view kValue =
      "form-data; name=\"a;b\" ; FileName=\"q\\\"uo\\\\te\\x.png\" ;empty=; bare = v ; flag; "
      "last=1";
  EXPECT_EQ(Parameter(kValue, "name"), "a;b");
  EXPECT_EQ(Parameter(kValue, "filename"), "q\"uo\\te\\x.png");
  EXPECT_EQ(Parameter(kValue, "empty"), "");
  EXPECT_EQ(Parameter(kValue, "bare"), "v");
  EXPECT_EQ(Parameter(kValue, "flag"), std::nullopt);
  EXPECT_EQ(Parameter(kValue, "last"), "1");
  EXPECT_EQ(Parameter("form-data; name=a; NAME=b", "name"), "a");
}

TEST(Parameters, WithoutAClosingQuoteAreRefused) {
  for (const char* value :
       {"form-data; name=\"open", "form-data; name=\"", "form-data; name=a; filename=\"open",
        "form-data; name=\"a\\\"", "form-data; name=\"a; filename=b", "form-data; name=\"a\"b",
        "form-data; name=\"a\" b; filename=c", "form-data; name=\"a\"\"b\""}) {
    EXPECT_FALSE(ParseParameters(value).ok()) << value;
    Result<Part> part = ParsePartHead("Content-Disposition: " + std::string(value), 100);
    EXPECT_FALSE(part.ok()) << value;
  }
}

TEST(Part, TakesExtendedFileNames) {
  auto filename = [](const std::string& parameters) {
    return ParsePartHead("Content-Disposition: form-data; name=file; " + parameters, 100)
        .value()
        .filename;
  };
  EXPECT_EQ(filename("filename*=UTF-8''na%C3%AFve%20.txt"), "na\xc3\xafve .txt");
  EXPECT_EQ(filename("filename=\"a.txt\"; filename*=utf-8'en'%e2%82%ac"), "\xe2\x82\xac");
  EXPECT_EQ(filename("filename=\"a.txt\"; filename*=latin1''b"), "a.txt");
  EXPECT_EQ(filename("filename=\"\""), "");
}

TEST(BoundaryOf, ContentTypes) {
  EXPECT_EQ(BoundaryOf("multipart/form-data; boundary=----x1"), "----x1");
  EXPECT_EQ(BoundaryOf("Multipart/Form-Data;charset=utf-8; Boundary=\"a b:c\""), "a b:c");
  for (const char* type :
       {"", "application/json", "multipart/form-data", "multipart/form-data; boundary=",
        "multipart/mixed; boundary=x", "multipart/form-data; boundary=\"a\r\nb\"",
        "multipart/form-data; boundary=\"x \"", "multipart/form-data; boundary=<x>",
        "multipart/form-data; boundary=\"BB", "multipart/form-data; boundary=\"",
        "multipart/form-data; boundary=\"BB\"x", "multipart/form-data; boundary=\"BB\\\"",
        "multipart/form-data; charset=\"utf-8; boundary=BB",
        "multipart/form-data; boundary=BB; charset=\"utf-8"}) {
    EXPECT_EQ(BoundaryOf(type), std::nullopt) << type;
  }
  EXPECT_EQ(BoundaryOf("multipart/form-data; boundary=" + std::string(71, 'x')), std::nullopt);
}

}  // namespace
}  // namespace agent_graph::multipart
