#include "tools/url_template.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace agent_graph::tools {
namespace {

using nlohmann::json;

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

// Whatever the model says, the host and the number of segments stay as they were written.
TEST(UrlTemplateTest, ArgumentsDoNotChangeTheStructure) {
  const std::string hostile[] = {"../../admin", "a/b",    "a?b=c",  "#x",    "@evil.example",
                                 "//evil",      "\\..\\", "%2e%2e", "a&b=c", "\r\nHost: evil"};
  for (const std::string& text : hostile) {
    const Result<std::string> url =
        Fill("http://host/v1/{id}/end?q={q}", {{"id", text}, {"q", text}});
    ASSERT_TRUE(url.ok()) << text;
    EXPECT_EQ(url->rfind("http://host/v1/", 0), 0u) << *url;
    EXPECT_EQ(std::count(url->begin(), url->end(), '/'), 5) << *url;
    EXPECT_EQ(std::count(url->begin(), url->end(), '?'), 1) << *url;
    EXPECT_EQ(url->find_first_of("&#@\\\r\n"), std::string::npos) << *url;
    EXPECT_EQ(url->find("%2e"), std::string::npos) << *url;
  }
  EXPECT_EQ(Problem("http://h/{id}/x", {{"id", ".."}}), "the argument \"id\" must not be \"..\"");
  EXPECT_EQ(Problem("http://h/.{id}", {{"id", "."}}), "the argument \"id\" must not be \"..\"");
  EXPECT_EQ(Problem("http://h/{id}/x", {{"id", ""}}), "the argument \"id\" must not be empty");
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
  AppendQuery("a b", "c&d", url);
  AppendQuery("n", 5, url);
  AppendQuery("l", {1, "x"}, url);
  AppendQuery("o", {{"k", 1}}, url);
  AppendQuery("z", nullptr, url);
  EXPECT_EQ(url, "http://h/?a%20b=c%26d&n=5&l=1&l=x&o=%7B%22k%22%3A1%7D");
}

}  // namespace
}  // namespace agent_graph::tools
