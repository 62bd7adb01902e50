// Arguments and exit statuses of agent-graph-admin.
#include <algorithm>

#include "admin_fixture.h"
#include "base/version.h"

namespace agent_graph::admin {
namespace {

constexpr const char* kCommandNames[] = {"verify", "backup", "restore", "repair", "reembed"};

TEST(AdminArguments, HelpNamesEveryCommand) {
  for (const char* option : {"--help", "-h"}) {
    const Ran ran = Admin({option});
    EXPECT_EQ(ran.code, 0);
    EXPECT_EQ(ran.err, "");
    for (const std::string command : kCommandNames) {
      EXPECT_NE(ran.out.find("agent-graph-admin " + command + " DIRECTORY"), std::string::npos)
          << command;
    }
  }
}

TEST(AdminArguments, CommandsHaveHelp) {
  const std::string usage = Admin({"--help"}).out;
  for (const std::string command : kCommandNames) {
    for (const char* option : {"--help", "-h"}) {
      const Ran ran = Admin({command, option});
      EXPECT_EQ(ran.code, 0) << command;
      EXPECT_EQ(ran.out, usage) << command;
      EXPECT_EQ(ran.err, "") << command;
    }
  }
}

TEST(AdminArguments, SchemaNeedsNoDirectory) {
  const Ran ran = Admin({"schema"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_NE(ran.out.find("\"security_headers\""), std::string::npos);
  EXPECT_EQ(ran.err, "");
}

TEST(AdminArguments, VersionIsThatOfTheProject) {
  const Ran ran = Admin({"--version"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, std::string("agent-graph-admin ") + kVersion + "\n");
  EXPECT_EQ(ran.err, "");
}

TEST(AdminArguments, ADatabaseIsAUrlOrAServiceWithOne) {
  const Ran missing = Admin({"migrate", "/no/such/service.json"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_NE(missing.err.find("/no/such/service.json"), std::string::npos) << missing.err;
  const Ran wrong = Admin({"migrate", "postgresql://user:s3cret@host:99999/database"});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_EQ(wrong.err.find("s3cret"), std::string::npos) << wrong.err;
}

TEST(AdminArguments, NoneAtAllGetTheUsage) {
  const std::string usage = Admin({"--help"}).out;
  for (const std::vector<std::string>& none : {std::vector<std::string>(), {""}}) {
    const Ran ran = Admin(none);
    EXPECT_EQ(ran.code, 2);
    EXPECT_EQ(ran.err, usage);
  }
}

TEST(AdminArguments, ALineSaysWhatACommandTakes) {
  const std::string hint = " (`agent-graph-admin --help` shows all)\n";
  EXPECT_EQ(Admin({"verifi", "d"}).err,
            "agent-graph-admin: there is no command \"verifi\"; did you mean verify?" + hint);
  EXPECT_EQ(Admin({"backup", "d"}).err,
            "agent-graph-admin: backup takes DIRECTORY NAME [UPLOADS]" + hint);
  EXPECT_EQ(Admin({"verify"}).err, "agent-graph-admin: verify takes DIRECTORY, or DATABASE" + hint);
  EXPECT_EQ(Admin({"schema", "d"}).err, "agent-graph-admin: schema takes no arguments" + hint);
}

TEST(AdminArguments, WrongOnesGetOneLineAndStatus2) {
  const std::vector<std::vector<std::string>> wrong = {
      {"nonsense", "d"},
      {"--verify", "d"},
      {"verify"},
      {"verify", "d", "more"},
      {"backup", "d"},
      {"backup", "d", "name", "uploads", "more"},
      {"restore", "d"},
      {"migrate"},
      {"migrate", "d", "more"},
      {"import", "d", "d"},
      {"import", "--from", "mysql", "d", "d"},
      {"import", "--from", "agentflow", "u"},
      {"after-restore"},
      {"after-restore", "d", "more"},
      {"restore", "d", "name", "uploads", "more"},
      {"repair"},
      {"repair", "d", "more"},
      {"reembed", "d"},
      {"reembed", "d", "service.json", "more"},
      {"schema", "d"},
  };
  for (const auto& arguments : wrong) {
    const Ran ran = Admin(arguments);
    EXPECT_EQ(ran.code, 2) << testing::PrintToString(arguments);
    EXPECT_TRUE(ran.err.starts_with("agent-graph-admin: ")) << ran.err;
    EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
    EXPECT_EQ(ran.out, "");
  }
}

class AdminDirectories : public AdminTest {};

TEST_F(AdminDirectories, AMissingOneIsNamed) {
  const std::string settings = Write("service.json", R"({"agent": "g.json:app"})");
  const std::vector<std::vector<std::string>> calls = {
      {"verify", state_}, {"backup", state_, "name"},    {"restore", state_, "name"},
      {"repair", state_}, {"reembed", state_, settings},
  };
  for (const auto& arguments : calls) {
    const Ran ran = Admin(arguments);
    EXPECT_EQ(ran.code, 1) << arguments[0];
    EXPECT_TRUE(ran.err.starts_with("agent-graph-admin: ")) << ran.err;
    EXPECT_NE(ran.err.find(state_), std::string::npos) << ran.err;
    EXPECT_EQ(ran.out, "");
  }
  EXPECT_FALSE(std::filesystem::exists(state_)) << "no command creates a state";
}

TEST_F(AdminDirectories, OneWithoutAStateIsNamed) {
  std::filesystem::create_directory(state_);
  for (const std::string command : {"verify", "repair"}) {
    const Ran ran = Admin({command, state_});
    EXPECT_EQ(ran.code, 1);
    EXPECT_NE(ran.err.find(state_ + ": contains no state of a service"), std::string::npos)
        << ran.err;
  }
  EXPECT_TRUE(std::filesystem::is_empty(state_));
}

TEST_F(AdminDirectories, OneThatOthersMayReadIsRefused) {
  MakeState();
  std::filesystem::permissions(state_, std::filesystem::perms::others_read,
                               std::filesystem::perm_options::add);
  const Ran ran = Admin({"verify", state_});
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find(state_), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace agent_graph::admin
