// Views whose session ends.
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "host_store.h"
#include "state/rows/keys.h"
#include "state/thread/listing.h"
#include "state/verify/faults.h"
#include "test_database.h"

namespace agent_graph::state {
namespace {

class ViewsTest : public postgres::DatabaseTest {
 protected:
  void EndSessions() {
    Run(
        {"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = "
         "current_database() AND pid <> pg_backend_pid()"});
  }
  HostStore host_{Options()};
};

TEST_F(ViewsTest, AViewWhoseSessionHasEndedFailsAndOthersWork) {
  const auto view = host_.database().TakeView();
  ASSERT_TRUE(view->Get(keys::Thread("t")).ok());
  EndSessions();
  EXPECT_EQ(view->Get(keys::Thread("u")).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(view->Get(keys::Thread("v")).status().code(), StatusCode::kUnavailable);
  EXPECT_TRUE(host_.database().TakeView()->Get(keys::Thread("t")).ok());
}

TEST_F(ViewsTest, AVerificationWhoseSessionEndsFails) {
  host_.RunTurn("t", {UserMessage("m")});
  auto view = host_.database().TakeView();
  ASSERT_TRUE(view->Get(keys::Thread("t")).ok());
  EndSessions();
  const DatabaseSnapshot snapshot(std::move(view));
  const auto seen = FindFaults(snapshot, nullptr, [](const Fault&) {});
  EXPECT_EQ(seen.status().code(), StatusCode::kUnavailable);
}

TEST_F(ViewsTest, ASearchByMetadataReadsManyThreadsAtOnce) {
  StateOptions indexing;
  indexing.indexed_metadata = {"topic"};
  postgres::ConnectionOptions connection = Options();
  HostStore host(connection, false, indexing);
  for (int i = 0; i < 30; ++i) {
    AppendMessagesRequest append = MessagesOn(Numbered("t", i), "anna", {});
    append.metadata_json = R"({"topic":"rain"})";
    EXPECT_TRUE(host.Execute(Operation::kAppendMessages, append).status.ok());
  }
  ListThreadsRequest list;
  list.page.limit = 100;
  list.page.metadata = {{"topic", "rain"}};
  for (const Scope& scope : {Scope::All(), Scope::Owner("anna")}) {
    list.scope = scope;
    const uint64_t before = connection.counters->round_trips;
    const Result<ThreadPage> page =
        ReadThreadPage(DatabaseSnapshot(host.database().TakeView()), list);
    ASSERT_TRUE(page.ok()) << page.status().ToString();
    EXPECT_EQ(page->threads.size(), 30u);
    // One connects, and one ends the view.
    EXPECT_LE(connection.counters->round_trips - before, 4u);
  }
}

}  // namespace
}  // namespace agent_graph::state
