// Messages between hosts over their database.
#include "state/postgres/cluster/host_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "../../fixture.h"
#include "../test_database.h"
#include "state/postgres/cluster/membership.h"

namespace agent_graph::state::postgres {
namespace {

using testing::ElementsAre;

// A member of the cluster with a link.
class LinkedHost {
 public:
  explicit LinkedHost(const ConnectionOptions& connection)
      : membership_(OptionsOf(connection)), status_(std::make_shared<DatabaseStatus>()) {
    EXPECT_TRUE(membership_.Join().ok());
    link_ = std::make_unique<HostLink>(
        HostLinkOptions{.connection = connection,
                        .instance = membership_.id(),
                        .receive = [this](auto messages) { Receive(std::move(messages)); },
                        .status = status_});
    EXPECT_TRUE(link_->Start().ok());
  }

  const std::string& id() const { return membership_.id(); }
  Membership& membership() { return membership_; }
  HostLink& link() { return *link_; }
  DatabaseStatus& status() { return *status_; }

  // Sends the message until it has arrived at the other host.
  void SendUntilArrived(LinkedHost& other, const std::string& message) {
    const Deadline deadline = DeadlineAfter(kPatience);
    while (!other.Has(message) && MonotonicClock::now() < deadline) {
      link_->Send(other.id(), message);
      other.WaitFor(message, std::chrono::milliseconds(20));
    }
    EXPECT_TRUE(other.Has(message));
  }
  void Reach(LinkedHost& other) { SendUntilArrived(other, "hello"); }
  size_t count() {
    const std::lock_guard lock(mutex_);
    return messages_.size();
  }
  bool Has(const std::string& message) {
    const std::lock_guard lock(mutex_);
    return std::ranges::find(messages_, message) != messages_.end();
  }
  void WaitFor(const std::string& message, std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    arrived_.wait_for(lock, time,
                      [&] { return std::ranges::find(messages_, message) != messages_.end(); });
  }
  // The messages up to this one, without greetings.
  std::vector<std::string> Until(const std::string& last) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(arrived_.wait_for(lock, kPatience,
                                  [&] { return !messages_.empty() && messages_.back() == last; }));
    std::vector<std::string> messages = messages_;
    std::erase(messages, "hello");
    return messages;
  }

 private:
  static MembershipOptions OptionsOf(const ConnectionOptions& connection) {
    MembershipOptions options;
    options.database = connection;
    options.channel = NewChannelName();
    return options;
  }
  void Receive(std::vector<std::string> messages) {
    const std::lock_guard lock(mutex_);
    for (std::string& message : messages) messages_.push_back(std::move(message));
    arrived_.notify_all();
  }

  Membership membership_;
  const std::shared_ptr<DatabaseStatus> status_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<std::string> messages_;
  std::unique_ptr<HostLink> link_;
};

class HostLinkTest : public DatabaseTest {
 protected:
  ConnectionOptions LinkOptions() const {
    ConnectionOptions options = Options();
    options.application_name = "agent-graph-link";
    return options;
  }
  LinkedHost a_{LinkOptions()};
  LinkedHost b_{LinkOptions()};
};

TEST_F(HostLinkTest, MessagesArriveInTheirOrder) {
  a_.Reach(b_);
  std::vector<std::string> sent;
  for (int i = 0; i < 500; ++i) {
    sent.push_back(std::to_string(i) + std::string(static_cast<size_t>(i) * 7, '\0'));
    a_.link().Send(b_.id(), sent.back());
  }
  EXPECT_EQ(b_.Until(sent.back()), sent);
  EXPECT_EQ(a_.count(), 0u);
}

TEST_F(HostLinkTest, MessagesThatCannotArriveAreLeftOut) {
  a_.Reach(b_);
  LinkedHost gone(LinkOptions());
  EXPECT_TRUE(gone.membership().Leave().ok());
  const uint64_t dropped = a_.status().link_dropped;
  a_.link().Send(gone.id(), "to a host that is dead");
  a_.link().Send(b_.id(), std::string(HostLink::kMessageBytesMax + 1, 'x'));
  a_.link().Send(b_.id(), "last");
  EXPECT_THAT(b_.Until("last"), ElementsAre("last"));
  EXPECT_EQ(a_.status().link_dropped, dropped + 1);
  EXPECT_EQ(gone.count(), 0u);
}

TEST_F(HostLinkTest, TheQueueIsBounded) {
  a_.Reach(b_);
  const uint64_t dropped = a_.status().link_dropped;
  const std::string message(HostLink::kMessageBytesMax, 'x');
  while (a_.status().link_dropped == dropped) a_.link().Send(b_.id(), message);
  a_.SendUntilArrived(b_, "last");
}

TEST_F(HostLinkTest, ALinkComesBackAfterItsSessionHasEnded) {
  a_.Reach(b_);
  for (int round = 0; round < 3; ++round) {
    Run(
        {"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
         "current_database() AND application_name = 'agent-graph-link'"});
    a_.SendUntilArrived(b_, "after " + std::to_string(round));
  }
}

TEST_F(HostLinkTest, NobodySeesTheChannelWhoMayNotReadTheTables) {
  a_.Reach(b_);
  b_.Reach(a_);
  // Statements of other sessions are shown to many, such as to monitoring.
  EXPECT_EQ(Number("SELECT count(*) FROM pg_stat_activity, agent_graph.instance WHERE pid <> "
                   "pg_backend_pid() AND query LIKE '%' || address || '%'"),
            0);
  EXPECT_EQ(Number("SELECT count(DISTINCT address) FROM agent_graph.instance "
                   "WHERE length(address) > 40"),
            2);
  EXPECT_EQ(Number("SELECT count(*) FROM information_schema.table_privileges WHERE table_schema = "
                   "'agent_graph' AND grantee = 'PUBLIC'"),
            0);
}

}  // namespace
}  // namespace agent_graph::state::postgres
