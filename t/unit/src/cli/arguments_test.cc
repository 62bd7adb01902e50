#include "cli/arguments.h"

#include "base/version.h"
#include "command_fixture.h"

namespace agent_graph::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Option kOptions[] = {
    {.name = "url", .value = "URL", .help = "address"},
    {.name = "cpp", .help = "in C++"},
};

TEST(Arguments, TakesOptionsAnywhere) {
  const auto arguments = Arguments::Parse({"a", "--url", "x", "b", "--cpp"}, kOptions);
  ASSERT_TRUE(arguments.ok());
  EXPECT_THAT(arguments->operands(), ElementsAre("a", "b"));
  EXPECT_EQ(arguments->Value("url", ""), "x");
  EXPECT_TRUE(arguments->Has("cpp"));
  EXPECT_EQ(Arguments::Parse({"--url=y"}, kOptions)->Value("url", ""), "y");
  EXPECT_THAT(Arguments::Parse({"--", "--cpp"}, kOptions)->operands(), ElementsAre("--cpp"));
}

TEST(Arguments, NamesTheWrongWord) {
  EXPECT_EQ(Arguments::Parse({"--nonsense"}, kOptions).status().message(),
            "there is no option --nonsense");
  EXPECT_EQ(Arguments::Parse({"a", "-x"}, kOptions).status().message(), "there is no option -x");
  EXPECT_EQ(Arguments::Parse({"--url"}, kOptions).status().message(), "--url needs a value");
}

TEST(Arguments, ChecksNumbers) {
  const auto number = [](const std::string& text) {
    return Arguments::Parse({"--url", text}, kOptions)->Number("url", 7, 1, 10);
  };
  EXPECT_EQ(*number("10"), 10);
  EXPECT_EQ(*Arguments::Parse({}, kOptions)->Number("url", 7, 1, 10), 7);
  for (const char* wrong : {"0", "11", "x", "1x", ""}) {
    EXPECT_THAT(number(wrong).status().message(), HasSubstr("must be a number from 1 to 10"));
  }
}

TEST(Program, DescribesItself) {
  for (const char* option : {"--help", "-h", "help"}) {
    const Ran ran = Call({option});
    EXPECT_EQ(ran.code, 0);
    for (const char* command : {"init", "check", "run", "chat", "draw", "bench"}) {
      EXPECT_THAT(ran.out, HasSubstr(std::string("  ") + command));
    }
  }
  EXPECT_EQ(Call({"--version"}).out, std::string("agent-graph ") + kVersion + "\n");
}

TEST(Program, DescribesEachCommand) {
  for (const std::string command : {"init", "check", "run", "chat", "draw", "bench"}) {
    const Ran help = Call({command, "--help"});
    EXPECT_EQ(help.code, 0);
    EXPECT_THAT(help.out, HasSubstr("usage: agent-graph " + command));
    EXPECT_THAT(help.out, HasSubstr("--version"));
    EXPECT_EQ(Call({command, "--version"}).out, std::string("agent-graph ") + kVersion + "\n");
  }
}

TEST(Program, RefusesWrongArguments) {
  const std::vector<std::vector<std::string>> wrong = {{},
                                                       {"nonsense"},
                                                       {"init"},
                                                       {"init", "a", "b"},
                                                       {"check"},
                                                       {"chat", "x"},
                                                       {"bench", "--requests", "0"},
                                                       {"draw", "--format", "png", "x"},
                                                       {"run", "--port", "0"}};
  for (const auto& arguments : wrong) {
    const Ran ran = Call(arguments);
    EXPECT_EQ(ran.code, 2) << testing::PrintToString(arguments);
    EXPECT_EQ(ran.out, "");
    EXPECT_NE(ran.err, "");
  }
}

}  // namespace
}  // namespace agent_graph::cli
