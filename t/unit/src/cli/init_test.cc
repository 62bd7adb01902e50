#include "command_fixture.h"

namespace agent_graph::cli {
namespace {

using testing::HasSubstr;

class Init : public CommandTest {};

TEST_F(Init, MakesAFolderThatPassesItsChecks) {
  const std::string folder = folder_ + "/deep/agent";
  const Ran made = Call({"init", folder});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("cd " + folder));
  EXPECT_EQ(Call({"check", folder}).err, "");
  EXPECT_THAT(Call({"draw", folder}).out, HasSubstr("current_time, calculator"));
  for (const char* file : {"service.json", "agent.json", "nginx.conf", "README.md"}) {
    EXPECT_THAT(Read(std::string("deep/agent/") + file), testing::Not(testing::IsEmpty())) << file;
  }
}

TEST_F(Init, WritesCpp) {
  const Ran made = Call({"init", "--cpp", folder_ + "/agent"});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("g++ -std=c++20"));
  EXPECT_THAT(Read("agent/agent.cc"), HasSubstr("AGENT_GRAPH_EXPORT(app, Build)"));
  EXPECT_THAT(Read("agent/service.json"), HasSubstr("agent.so:app"));
  EXPECT_THAT(Call({"check", folder_ + "/agent"}).err, HasSubstr("agent.so"));
}

TEST_F(Init, ReplacesNothing) {
  Write("nginx.conf", "mine");
  const Ran made = Call({"init", folder_});
  EXPECT_EQ(made.code, 1);
  EXPECT_THAT(made.err, HasSubstr("nginx.conf exists already"));
  EXPECT_EQ(Read("nginx.conf"), "mine");
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/service.json"));
}

class Run : public CommandTest {};

TEST_F(Run, SaysWhatIsMissing) {
  EXPECT_THAT(Call({"run", "--nginx", "/nowhere", folder_}).err, HasSubstr("--nginx: /nowhere"));
  EXPECT_THAT(Call({"run", "--nginx", "/bin/sh", "--module", "/nowhere", folder_}).err,
              HasSubstr("--module: there is no file /nowhere"));
  EXPECT_THAT(Call({"run", "--nginx", "/bin/sh", "--module", "/bin/sh", folder_}).err,
              HasSubstr("nginx.conf: does not exist; `agent-graph init"));
  Write("nginx.conf", "listen 80;");
  EXPECT_THAT(
      Call({"run", "--nginx", "/bin/sh", "--module", "/bin/sh", "--port", "9000", folder_}).err,
      HasSubstr("write the port there"));
}

}  // namespace
}  // namespace agent_graph::cli
