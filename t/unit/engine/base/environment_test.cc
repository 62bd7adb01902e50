#include "base/environment.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"

namespace agent_graph {
namespace {

const Environment kEnvironment = {{"NAME", "value"}, {"EMPTY", ""}, {"DOLLAR", "${NAME}"}};

TEST(ExpandVariables, ReplacesReferences) {
  EXPECT_EQ(*ExpandVariables("", kEnvironment), "");
  EXPECT_EQ(*ExpandVariables("plain $NAME $", kEnvironment), "plain $NAME $");
  EXPECT_EQ(*ExpandVariables("a${NAME}b${NAME}", kEnvironment), "avaluebvalue");
  EXPECT_EQ(*ExpandVariables("[${EMPTY}]", kEnvironment), "[]");
  EXPECT_EQ(*ExpandVariables("${EMPTY:-x}${UNSET:-y:-z}", kEnvironment), "xy:-z");
  EXPECT_EQ(*ExpandVariables("${DOLLAR}", kEnvironment), "${NAME}")
      << "a value is not expanded again";
}

TEST(ExpandVariables, NamesWhatIsMissing) {
  EXPECT_EQ(ExpandVariables("${UNSET}", kEnvironment).status().message(),
            "environment variable UNSET is not set");
  EXPECT_FALSE(ExpandVariables("${NAME", kEnvironment).ok());
  EXPECT_FALSE(ExpandVariables("${}", kEnvironment).ok());
  EXPECT_FALSE(ExpandVariables("${1A}", kEnvironment).ok());
}

TEST(ExpandVariables, RefusesAVariableAsInAShell) {
  for (const char* text : {"$NAME", "Bearer $NAME", "$_A1"}) {
    EXPECT_NE(ExpandVariables(text, kEnvironment).status().message().find("needs braces: ${"),
              std::string::npos)
        << text;
  }
  for (const std::string text : {"$", "$5", "$name", "$NAME!", "a$NAME", "$$NAME"}) {
    EXPECT_EQ(*ExpandVariables(text, kEnvironment), text);
  }
}

TEST(ExpandVariables, TellsWhatCameFromTheEnvironment) {
  std::vector<std::string> values;
  EXPECT_EQ(*ExpandVariables("a${NAME}${UNSET:-b}", kEnvironment, &values), "avalueb");
  EXPECT_EQ(values, std::vector<std::string>{"value"});
}

TEST(BlotOut, ReplacesSecretsButNotWordsThatAreTooShort) {
  std::string text = "key=secret-1, again secret-1, ab";
  BlotOut({"secret-1", "ab", ""}, text);
  EXPECT_EQ(text, "key=***, again ***, ab");
}

TEST(BlotOut, ReplacesAnEndThatMayBeTheBeginningOfASecret) {
  const std::vector<std::string> secrets = {"secret-1", "cre", "another"};
  const auto shown = [&](std::string text) {
    BlotOutOfCutText(secrets, text);
    return text;
  };
  EXPECT_EQ(shown("key=secret-1, key=secret-"), "key=***, key=***");
  EXPECT_EQ(shown("key=secret-1"), "key=***");
  EXPECT_EQ(shown("no"), "no");
  EXPECT_EQ(shown("key=s"), "key=***");
  EXPECT_EQ(shown("secret"), "***");
  EXPECT_EQ(shown(""), "");
}

TEST(BlotOut, ReplacesSecretsInJson) {
  json value = json::parse(
      R"({"a":["x secret-1",{"b/secret-1":"123456"}],"n":123456,"m":-12345678,"k":12345,"t":true})");
  BlotOut({"secret-1", "123456"}, value);
  EXPECT_EQ(value.dump(),
            R"({"a":["x ***",{"b/***":"***"}],"n":"***","m":"-***78","k":12345,"t":true})");
}

}  // namespace
}  // namespace agent_graph
