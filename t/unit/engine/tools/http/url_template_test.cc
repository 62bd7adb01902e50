#include "tools/http/url_template.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"

namespace agent_graph::tools {
namespace {

const Environment kEnvironment = {{"HOST", "api.example.com"}, {"KEY", "s3cret/{x}?"}};

Result<std::string> Fill(const std::string& url, const json& arguments) {
  std::vector<std::string> secrets;
  Result<UrlTemplate> parsed = UrlTemplate::Parse(url, kEnvironment, secrets);
  return parsed.ok() ? parsed->Fill(arguments) : parsed.status();
}

std::string Problem(const std::string& url, const json& arguments = json::object()) {
  return Fill(url, arguments).status().message();
}

TEST(UrlTemplateTest, ArgumentsAreEncoded) {
  EXPECT_EQ(*Fill("https://h:1/a/{id}/b?q={q}&k=v", {{"id", "7"}, {"q", "x y"}}),
            "https://h:1/a/7/b?q=x%20y&k=v");
  EXPECT_EQ(*Fill("http://h/{a}{b}", {{"a", 1}, {"b", true}}), "http://h/1true");
  EXPECT_EQ(*Fill("http://h/{a}", {{"a", "é~-._"}}), "http://h/%C3%A9~-._");
  EXPECT_EQ(*Fill("http://h", json::object()), "http://h/");
  EXPECT_EQ(*Fill("http://h?a={a}", {{"a", "1"}}), "http://h/?a=1");
}

// Whatever arguments the model passes, the host and the number of segments do not change.
TEST(UrlTemplateTest, ArgumentsDoNotChangeTheStructure) {
  const std::string hostile[] = {"a/b",     "a?b=c", "#x",    "@evil.example", "//evil", "...",
                                 "..a/b..", "100%",  "a&b=c", "%zz",           "a;.."};
  for (const std::string& text : hostile) {
    const Result<std::string> url =
        Fill("http://host/v1/{id}/end?q={q}", {{"id", text}, {"q", text}});
    ASSERT_TRUE(url.ok()) << text;
    EXPECT_EQ(url->rfind("http://host/v1/", 0), 0u) << *url;
    EXPECT_EQ(std::count(url->begin(), url->end(), '/'), 5) << *url;
    EXPECT_EQ(std::count(url->begin(), url->end(), '?'), 1) << *url;
    EXPECT_EQ(url->find_first_of("&#@\\\r\n"), std::string::npos) << *url;
  }
  EXPECT_EQ(Problem("http://h/{id}/x", {{"id", ""}}), "the argument \"id\" must not be empty");
}

// Servers and proxies decode a path before they resolve it.
TEST(UrlTemplateTest, ArgumentsDoNotLeadToAnotherPath) {
  const std::string dots = "must not hold \".\" or \"..\" as a component of a path";
  const std::string encoded = "must not be percent-encoded: that is done when it is sent";
  const std::string control = "must not hold control characters";
  const std::pair<std::string, std::string> refused[] = {
      {".", dots},
      {"..", dots},
      {"../admin", dots},
      {"x/../../admin", dots},
      {"./../admin", dots},
      {"a/.", dots},
      {"a/..", dots},
      {"a//../b", dots},
      {"/..", dots},
      {"..;/admin", dots},
      {"..?x=1", dots},
      {"a/..#x", dots},
      {".. ", dots},
      {"a/. /b", dots},
      {"a/..;jsessionid=1/admin", dots},
      {"..\\admin", "must not hold a backslash"},
      {"a\\b", "must not hold a backslash"},
      {"%2e%2e%2fadmin", encoded},
      {"..%2Fadmin", encoded},
      {"%252e%252e/admin", encoded},
      {"%%32%65", encoded},
      {"a%5cb", encoded},
      {"%c0%ae%c0%ae/admin", encoded},
      {std::string("a\0b", 3), control},
      {"\r\nHost: evil", control},
      {"a%00", encoded},
  };
  for (const auto& [value, fault] : refused) {
    for (const char* url : {"http://h/v1/{id}", "http://h/v1/a{id}b/c", "http://h/{id}?x=1"}) {
      EXPECT_EQ(Problem(url, {{"id", value}}), "the argument \"id\" " + fault) << value;
    }
  }
  const std::string together =
      "the argument \"b\" must not make \".\" or \"..\" a component of the path";
  EXPECT_EQ(Problem("http://h/{a}{b}", {{"a", "x/."}, {"b", "./y"}}).substr(0, 16),
            "the argument \"a\"");
  EXPECT_EQ(Problem("http://h/.{b}", {{"b", ";x"}}), together);
  EXPECT_EQ(Problem("http://h/.{b}", {{"b", "?x"}}), together);
  EXPECT_EQ(Problem("http://h/v%2F{a}{b}", {{"a", ";"}, {"b", "/y"}}), "");
  EXPECT_EQ(Problem("http://h/v%2F.{b}", {{"b", ";/y"}}), together);
  EXPECT_EQ(Problem("http://h/%2{b}", {{"b", "e"}}), together);
  const std::string twice =
      "the argument \"b\" must not make a part of the path percent-encoded twice";
  EXPECT_EQ(Problem("http://h/{a}{b}", {{"a", "%"}, {"b", "2e"}}), twice);
  EXPECT_EQ(Problem("http://h/{a}{b}", {{"a", "x%2"}, {"b", "f.."}}), twice);
  EXPECT_EQ(Problem("http://h/%25{b}", {{"b", "2fadmin"}}), twice);
  EXPECT_EQ(*Fill("http://h/a%252Fb{b}", {{"b", "100%"}}), "http://h/a%252Fb100%25");
}

TEST(UrlTemplateTest, AQueryTakesPathsButNoNul) {
  EXPECT_EQ(*Fill("http://h/?file={f}", {{"f", "../a\\b%2f\n"}}),
            "http://h/?file=..%2Fa%5Cb%252f%0A");
  EXPECT_EQ(Problem("http://h/?file={f}", {{"f", std::string("a\0b", 3)}}),
            "the argument \"f\" must not hold a NUL character");
}

TEST(UrlTemplateTest, AbsentArguments) {
  EXPECT_EQ(Problem("http://h/{id}"), "the argument \"id\" is missing");
  EXPECT_EQ(Problem("http://h/{id}", {{"id", nullptr}}), "the argument \"id\" is missing");
  EXPECT_EQ(*Fill("http://h/?a={a}&b=1&c={c}", {{"c", nullptr}}), "http://h/?b=1");
}

TEST(UrlTemplateTest, ListsRepeatAPartOfTheQuery) {
  EXPECT_EQ(*Fill("http://h/?tag={t}", {{"t", {"a", "b"}}}), "http://h/?tag=a&tag=b");
  EXPECT_EQ(*Fill("http://h/?tag={t}", {{"t", json::array()}}), "http://h/");
  EXPECT_FALSE(Fill("http://h/?x={t}{t}", {{"t", {"a"}}}).ok());
  EXPECT_FALSE(Fill("http://h/{t}", {{"t", {"a"}}}).ok());
}

TEST(UrlTemplateTest, VariablesOfTheEnvironment) {
  EXPECT_EQ(*Fill("https://${HOST}/{id}", {{"id", 1}}), "https://api.example.com/1");
  std::vector<std::string> secrets;
  const auto parsed = UrlTemplate::Parse("http://h/?key=${KEY}", kEnvironment, secrets);
  ASSERT_TRUE(parsed.ok());
  EXPECT_TRUE(parsed->arguments().empty()) << "a value is not a template";
  EXPECT_EQ(secrets, std::vector<std::string>{"s3cret/{x}?"});
  EXPECT_EQ(Problem("http://${NONE}/"), "environment variable NONE is not set");
}

TEST(UrlTemplateTest, Mistakes) {
  EXPECT_EQ(Problem("ftp://h/"), "must begin with http:// or https://");
  EXPECT_EQ(Problem("http://{host}/"),
            "arguments may stand behind the host only, after a \"/\" or \"?\"");
  EXPECT_EQ(Problem("http:///x"), "has no valid host");
  EXPECT_EQ(Problem("http://h/{a"), "\"{\" must begin the {name} of an argument");
  EXPECT_EQ(Problem("http://h/{a b}"), "\"{\" must begin the {name} of an argument");
  EXPECT_EQ(Problem("http://h/a}"), "\"}\" without \"{\"");
  EXPECT_EQ(Problem("http://h/a b"), "must hold no blanks or control characters");
  EXPECT_EQ(Problem("http://h/a#b"), "must have no fragment");
}

TEST(AppendQueryTest, Values) {
  std::string url = "http://h/";
  EXPECT_TRUE(AppendQuery("a b", "c&d", url).ok());
  EXPECT_TRUE(AppendQuery("n", 5, url).ok());
  EXPECT_TRUE(AppendQuery("l", {1, "x"}, url).ok());
  EXPECT_TRUE(AppendQuery("o", {{"k", 1}}, url).ok());
  EXPECT_TRUE(AppendQuery("z", nullptr, url).ok());
  EXPECT_EQ(url, "http://h/?a%20b=c%26d&n=5&l=1&l=x&o=%7B%22k%22%3A1%7D");
  EXPECT_FALSE(AppendQuery("q", std::string("a\0b", 3), url).ok());
}

}  // namespace
}  // namespace agent_graph::tools
