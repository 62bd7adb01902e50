#include "settings/environment.h"

#include <gtest/gtest.h>

namespace agent_graph::settings {
namespace {

const Environment kEnvironment = {{"NAME", "value"}, {"EMPTY", ""}, {"DOLLAR", "${NAME}"}};

TEST(Expand, ReplacesReferences) {
  EXPECT_EQ(*Expand("", kEnvironment), "");
  EXPECT_EQ(*Expand("plain $NAME $", kEnvironment), "plain $NAME $");
  EXPECT_EQ(*Expand("a${NAME}b${NAME}", kEnvironment), "avaluebvalue");
  EXPECT_EQ(*Expand("[${EMPTY}]", kEnvironment), "[]");
  EXPECT_EQ(*Expand("${EMPTY:-x}${UNSET:-y:-z}", kEnvironment), "xy:-z");
  EXPECT_EQ(*Expand("${DOLLAR}", kEnvironment), "${NAME}") << "a value is not expanded again";
}

TEST(Expand, NamesWhatIsMissing) {
  EXPECT_EQ(Expand("${UNSET}", kEnvironment).status().message(),
            "environment variable UNSET is not set");
  EXPECT_FALSE(Expand("${NAME", kEnvironment).ok());
  EXPECT_FALSE(Expand("${}", kEnvironment).ok());
  EXPECT_FALSE(Expand("${1A}", kEnvironment).ok());
}

}  // namespace
}  // namespace agent_graph::settings
