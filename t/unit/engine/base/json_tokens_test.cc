#include "base/json_tokens.h"

#include <gtest/gtest.h>

#include <new>
#include <random>
#include <string>

#include "base/json.h"

namespace agent_graph {
namespace {

// Collects what a parser reports as text.
class Recorder : public nlohmann::json_sax<json> {
 public:
  std::string text;

  bool null() override { return Add("null"); }
  bool boolean(bool value) override { return Add(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return Add("i" + std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    return Add("u" + std::to_string(value));
  }
  bool number_float(number_float_t value, const string_t&) override {
    return Add(json(value).dump());
  }
  bool string(string_t& value) override { return Add("'" + value); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return Add("{"); }
  bool key(string_t& value) override { return Add(":" + value); }
  bool end_object() override { return Add("}"); }
  bool start_array(size_t) override { return Add("["); }
  bool end_array() override { return Add("]"); }
  bool parse_error(size_t, const std::string&, const json::exception&) override { return false; }

 private:
  bool Add(const std::string& token) {
    text += token + '\n';
    return true;
  }
};

// True if the text was read; then both parsers have reported the same.
bool ReadsTheSame(const std::string& text) {
  Recorder fast;
  if (!ReadJsonTokens(text, fast)) return false;
  Recorder slow;
  EXPECT_TRUE(json::sax_parse(text, &slow)) << text;
  EXPECT_EQ(fast.text, slow.text) << text;
  return true;
}

constexpr const char* kTexts[] = {
    R"({"messages":[{"role":"user","content":"hello"}],"config":{"thread_id":"t 1"}})",
    R"({"a":{"b":[{},[],"",null,true,false]},"a":1,"":{"":[[[1]]]}})",
    R"([0,-0,-1,9223372036854775807,-9223372036854775808,18446744073709551615])",
    R"([1.5,-2.25e-3,1e10,0.1,123456789.123456789,4.9e-324,1.7976931348623157e308,0.0,-0.0])",
    R"(["\"\\\/\b\f\n\r\t\u0041\u00e9\u20ac\ud83d\ude00","ä€😀"])",
    " \t\r\n{ \"a\" : [ 1 , 2 ] } \n",
    R"("text")",
    R"(null)",
};

TEST(ReadJsonTokens, ReportsWhatNlohmannsParserReports) {
  for (const char* text : kTexts) EXPECT_TRUE(ReadsTheSame(text)) << text;
}

TEST(ReadJsonTokens, LeavesToTheOtherParserWhatItMightReadDifferently) {
  for (const char* text :
       {"18446744073709551616", "-9223372036854775809", "1e999", "1e-999", "\xef\xbb\xbf[]"}) {
    Recorder ignored;
    EXPECT_FALSE(ReadJsonTokens(text, ignored)) << text;
  }
  EXPECT_EQ(ParseJson("18446744073709551616")->get<double>(), 18446744073709551616.0);
  EXPECT_TRUE(ParseJson("\xef\xbb\xbf[]").ok());
}

TEST(ReadJsonTokens, RefusesWhatIsNotJson) {
  for (const char* text :
       {"",         "[1,]",        "{\"a\":1,}", "[1] x",        "nul",
        "01",       "1.",          "+1",         ".5",           "'a'",
        "\"\x01\"", "\"\\ud800\"", "\"\xff\"",   "\"\xc0\xaf\"", "\"\xed\xa0\x80\"",
        "[1 2]",    "{1:2}",       "// a\n1",    "NaN",          "Infinity"}) {
    Recorder ignored;
    EXPECT_FALSE(ReadJsonTokens(text, ignored)) << text;
    EXPECT_FALSE(ParseJson(text).ok()) << text;
  }
}

TEST(ReadJsonTokens, EndsWithItsHandler) {
  EXPECT_FALSE(ParseJson("[[[[1]]]]", {.depth_max = 3}).ok());
  EXPECT_FALSE(ParseJson("[1,2,3]", {.values_max = 3}).ok());
  const std::string deep = std::string(100, '[') + std::string(100, ']');
  EXPECT_TRUE(ParseJson(deep).ok());
}

// Has no memory for a text.
class FullRecorder : public Recorder {
 public:
  bool string(string_t&) override { throw std::bad_alloc(); }
};

TEST(ReadJsonTokens, LetsExceptionsOfItsHandlerPass) {
  FullRecorder recorder;
  EXPECT_THROW(ReadJsonTokens(R"({"a":[1,{"\u0062":"text"}]})", recorder), std::bad_alloc);
}

// Texts with a few changed bytes: most are broken, and many of the others are unusual.
TEST(ReadJsonTokens, ReadsChangedTextsAsNlohmannsParserDoes) {
  std::mt19937 random(1);
  constexpr std::string_view kBytes = "{}[]\":,\\ue+-.0123456789 \xc3\xa9\xed\x80\xff tfn/";
  int read = 0;
  for (int i = 0; i < 40'000; ++i) {
    std::string text = kTexts[random() % std::size(kTexts)];
    for (size_t change = random() % 3 + 1; change > 0; --change) {
      const size_t at = random() % text.size();
      const char byte = kBytes[random() % kBytes.size()];
      switch (random() % 3) {
        case 0:
          text[at] = byte;
          break;
        case 1:
          text.insert(at, 1, byte);
          break;
        default:
          text.erase(at, 1);
          if (text.empty()) text = "1";
      }
    }
    if (ReadsTheSame(text)) ++read;
  }
  EXPECT_GT(read, 1000);
}

}  // namespace
}  // namespace agent_graph
