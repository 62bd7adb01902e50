// A host that stands still, loses its runs to another one, and comes back.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>

#include "../factory/child_process.h"
#include "../fixture.h"
#include "postgres_server.h"
#include "state/postgres/schema/migration.h"

namespace agent_graph::state {
namespace {

using testing::ElementsAre;

// A line that one process writes and another one waits for.
class LinePipe {
 public:
  explicit LinePipe(std::string path) : path_(std::move(path)) {}
  void Make() { ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0); }
  void Write(const std::string& line) { std::ofstream(path_) << line << std::endl; }
  std::string Read() {
    std::string line;
    std::ifstream file(path_);
    std::getline(file, line);
    return line;
  }

 private:
  const std::string path_;
};

std::string FileIn(const std::string& directory, const std::string& name) {
  return directory + "/" + name;
}

AppendRunRequest ZombieAppend(const BeginRunRequest& run, const BeginRunReply& begun) {
  AppendRunRequest append = AppendOf(run, begun, {UserMessage("zombie")});
  append.entries.push_back({"node_started", "{}", 0});
  return append;
}

// A host with one run. It appends to it each time it is told to, and reports the outcome.
TEST(Child, DISABLED_HostWithARun) {
  const std::string directory = ChildDirectory();
  ASSERT_NE(directory, "");
  std::string url;
  std::getline(std::ifstream(FileIn(directory, "url")), url);
  const auto server =
      StartServer(FileIn(directory, "state"), "postgres", StateOptions::kNewest, {}, url);
  const auto client = StartClient(FileIn(directory, "state"));
  const BeginRunRequest run = RunOn("t", "", "run-of-the-child");
  const Result<BeginRunReply> begun = client->BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok()) << begun.status().ToString();
  LinePipe orders(FileIn(directory, "orders"));
  LinePipe reports(FileIn(directory, "reports"));
  reports.Write("begun");
  while (orders.Read() == "append") {
    const Result<AppendRunReply> appended = client->AppendRun(ZombieAppend(run, *begun));
    reports.Write(std::string(StatusCodeName(appended.status().code())));
  }
}

class ZombieHostTest : public testing::Test {
 protected:
  void SetUp() override {
    url_ = PostgresServer::Shared().CreateDatabase();
    postgres::Connection connection({.url = url_});
    ASSERT_TRUE(postgres::MigrateSchema(connection).ok());
    std::ofstream(FileIn(directory_.path(), "url")) << url_ << "\n";
    orders_.Make();
    reports_.Make();
    server_ = StartServer(FileIn(directory_.path(), "other"), "postgres", StateOptions::kNewest, {},
                          url_);
    client_ = StartClient(FileIn(directory_.path(), "other"));
  }
  std::string AskToAppend() {
    orders_.Write("append");
    return reports_.Read();
  }
  std::vector<std::string> MessagesOfThread() {
    const Result<MessagePage> page = client_->ListMessages(Scope::All(), "t", Page(0));
    EXPECT_TRUE(page.ok()) << page.status().ToString();
    return page.ok() ? Ids(page->messages) : std::vector<std::string>();
  }

  TemporaryDirectory directory_;
  LinePipe orders_{FileIn(directory_.path(), "orders")};
  LinePipe reports_{FileIn(directory_.path(), "reports")};
  std::string url_;
  std::unique_ptr<StateServer> server_;
  std::unique_ptr<Client> client_;
};

TEST_F(ZombieHostTest, AHostThatComesBackIsRefusedAlsoAfterTheThreadWasMadeAgain) {
  ChildProcess zombie("Child.DISABLED_HostWithARun", directory_.path());
  ASSERT_EQ(reports_.Read(), "begun");
  ASSERT_EQ(AskToAppend(), "OK");
  zombie.Freeze();
  // Waits until this host has declared the other one dead and has taken the thread over.
  const BeginRunRequest second = RunOn("t", "", "second");
  Result<BeginRunReply> begun = client_->BeginRun(second, nullptr);
  ASSERT_TRUE(begun.ok()) << begun.status().ToString();
  EXPECT_THAT(Ids(begun->state.window), ElementsAre("zombie"));
  ASSERT_TRUE(client_->FinishRun(FinishOf(second, *begun, {UserMessage("m2")})).ok());
  zombie.Thaw();
  EXPECT_EQ(AskToAppend(), "FENCED");
  EXPECT_THAT(MessagesOfThread(), ElementsAre("zombie", "m2"));

  ASSERT_TRUE(client_->DeleteThread(Scope::All(), "t").ok());
  const BeginRunRequest third = RunOn("t", "", "run-of-the-child");
  begun = client_->BeginRun(third, nullptr);
  ASSERT_TRUE(begun.ok()) << begun.status().ToString();
  EXPECT_EQ(AskToAppend(), "FENCED");
  ASSERT_TRUE(client_->FinishRun(FinishOf(third, *begun, {UserMessage("m3")})).ok());
  EXPECT_THAT(MessagesOfThread(), ElementsAre("m3"));
}

TEST_F(ZombieHostTest, AHostThatEndsInAnOrderlyWayLeavesAtOnce) {
  postgres::Connection connection({.url = url_});
  const auto dead = [&] {
    Result<postgres::Rows> rows =
        connection.Execute({"SELECT count(*) FROM agent_graph.instance WHERE dead"});
    EXPECT_TRUE(rows.ok()) << rows.status().ToString();
    return rows.ok() ? (*rows)[0].Bigint(0) : -1;
  };
  EXPECT_EQ(dead(), 0);
  client_->Stop();
  server_.reset();
  EXPECT_EQ(dead(), 1);
}

}  // namespace
}  // namespace agent_graph::state
