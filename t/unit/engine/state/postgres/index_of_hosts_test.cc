// The index of threads by metadata, which one host builds for all.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "../conformance/direct_host.h"
#include "../fixture.h"
#include "host_options.h"
#include "test_database.h"

namespace agent_graph::state {
namespace {

class IndexOfHostsTest : public postgres::DatabaseTest {
 protected:
  static constexpr int kThreads = 5;

  // A host that indexes the values of `tenant`, or nothing.
  std::unique_ptr<DirectHost> Host(const std::string& directory, bool indexes) {
    StateOptions options = OptionsOfHost(directory, url_);
    if (indexes) options.indexed_metadata = {"tenant"};
    auto host = std::make_unique<DirectHost>(options);
    const Status opened = host->Open();
    EXPECT_TRUE(opened.ok()) << opened.ToString();
    return host;
  }
  static std::unique_ptr<Client> ClientOf(DirectHost& host) {
    auto client = std::make_unique<Client>(host.NewChannel(), "postgres", [] {});
    EXPECT_TRUE(client->Start().ok());
    return client;
  }
  // Threads that no index has.
  void WriteThreads() {
    const auto host = Host(first_.path(), false);
    const auto client = ClientOf(*host);
    for (int i = 0; i < kThreads; ++i) {
      AppendMessagesRequest append = MessagesOn(Numbered("t", i), "", {});
      append.metadata_json = R"({"tenant":"x"})";
      EXPECT_TRUE(client->AppendMessages(append).ok());
    }
    client->Stop();
  }
  static size_t Found(Client& client) {
    PageRequest page;
    page.metadata = {{"tenant", "x"}};
    const Result<ThreadPage> found = client.ListThreads(Scope::All(), page);
    EXPECT_TRUE(found.ok()) << found.status().ToString();
    return found.ok() ? found->threads.size() : 0;
  }
  static void AwaitIndex(Client& client) {
    const Deadline deadline = DeadlineAfter(kPatience);
    while (Found(client) < kThreads && MonotonicClock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_EQ(Found(client), static_cast<size_t>(kThreads));
  }

  TemporaryDirectory first_;
  TemporaryDirectory second_;
};

TEST_F(IndexOfHostsTest, AHostBuildsItAndGivesTheJobBack) {
  WriteThreads();
  const auto host = Host(second_.path(), true);
  const auto client = ClientOf(*host);
  AwaitIndex(*client);
  const Deadline deadline = DeadlineAfter(kPatience);
  const auto held = [&] {
    return Number(
        "SELECT count(*) FROM agent_graph.job WHERE name = 'index metadata' AND instance "
        "IS NOT NULL");
  };
  while (held() != 0 && MonotonicClock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(held(), 0);
  EXPECT_EQ(Number("SELECT claim FROM agent_graph.job WHERE name = 'index metadata'"), 1);
  client->Stop();
}

TEST_F(IndexOfHostsTest, AHostLeavesItToAnotherOneThatLives) {
  WriteThreads();
  const std::string builder(32, 'b');
  Run(
      {"INSERT INTO agent_graph.instance (id, incarnation, host, address, version, schema) VALUES "
       "($1, 1, '', '', '', 1)",
       {postgres::Value::Uuid(builder)}});
  Run({"INSERT INTO agent_graph.job (name, instance, claim) VALUES ('index metadata', $1, 7)",
       {postgres::Value::Uuid(builder)}});
  // It cannot be declared dead as long as a transaction holds its row.
  postgres::ConnectionOptions options = Options();
  options.idle_in_transaction_timeout = std::chrono::milliseconds(0);
  postgres::Connection alive(options);
  alive.Begin();
  ASSERT_TRUE(alive
                  .Execute({"SELECT 1 FROM agent_graph.instance WHERE id = $1 FOR KEY SHARE",
                            {postgres::Value::Uuid(builder)}})
                  .ok());
  const auto host = Host(second_.path(), true);
  const auto client = ClientOf(*host);
  // A claim of the host would be the next one, and it works in the background from its start on.
  for (int i = 0; i < 50; ++i) RunTurn(*client, "other", "", {UserMessage(Numbered("m", i))});
  EXPECT_EQ(Found(*client), 0u);
  EXPECT_EQ(Number("SELECT claim FROM agent_graph.job WHERE name = 'index metadata'"), 7);
  ASSERT_TRUE(alive.Commit().ok());
  Run({"UPDATE agent_graph.instance SET dead = true WHERE id = $1",
       {postgres::Value::Uuid(builder)}});
  AwaitIndex(*client);
  EXPECT_EQ(Number("SELECT claim FROM agent_graph.job WHERE name = 'index metadata'"), 8);
  client->Stop();
}

}  // namespace
}  // namespace agent_graph::state
