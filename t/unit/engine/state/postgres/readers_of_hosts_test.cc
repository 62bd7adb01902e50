// Clients of one host that read a run of the other one: pieces of its message come over the link.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>

#include "../fixture.h"
#include "../run_observer.h"
#include "hosts_fixture.h"
#include "state/postgres/database/connection.h"

namespace agent_graph::state {
namespace {

class ReadersOfHostsTest : public HostsTest {
 protected:
  void SetUp() override {
    worker_ = &a_.Connect();
    run_ = RunOn("t", "", "r");
    begun_ = Begin(*worker_, run_);
    observer_.Follow(begun_.thread_number);
  }

  // Waits until more is known at the other host than before.
  WatchRunReply Watch() { return observer_.Next(on_b_, kPatience.count()); }
  void WatchUntil(const std::string& text) {
    const Deadline deadline = DeadlineAfter(kPatience);
    while (observer_.text != text && MonotonicClock::now() < deadline) Watch();
    EXPECT_EQ(observer_.text.size(), text.size());
    EXPECT_TRUE(observer_.text == text);
  }
  // Returns true if clients watch the run.
  bool Publish(const std::string& text, uint64_t begin) {
    return PublishText(*worker_, begun_.lease_epoch, "m", text, begin).watched;
  }
  void PublishWhenWatched(const std::string& text) {
    const Deadline deadline = DeadlineAfter(kPatience);
    while (!Publish(text, 0) && MonotonicClock::now() < deadline) std::this_thread::yield();
  }

  Client* worker_ = nullptr;
  BeginRunRequest run_;
  BeginRunReply begun_;
  RunObserver observer_;
};

TEST_F(ReadersOfHostsTest, AReaderGetsThePieces) {
  Watch();
  std::thread reader([&] { WatchUntil("Hello!"); });
  PublishWhenWatched("Hel");
  EXPECT_TRUE(Publish("lo", 3));
  EXPECT_TRUE(Publish("!", 5));
  reader.join();
  ASSERT_TRUE(worker_->FinishRun(FinishOf(run_, begun_, {UserMessage("m1")})).ok());
  while (!Watch().ended) continue;
}

TEST_F(ReadersOfHostsTest, AReaderThatComesLateGetsTheMessageSoFar) {
  const std::string text(size_t{700} * 1024, 'x');
  // A reader at the run's own host, so that the message is kept.
  WatchRunRequest near = observer_.known;
  EXPECT_TRUE(on_a_.WatchRun(near, nullptr).ok());
  for (size_t begin = 0; begin < text.size(); begin += kPieceBytesMax) {
    EXPECT_TRUE(Publish(text.substr(begin, kPieceBytesMax), begin));
  }
  WatchUntil(text);
}

TEST_F(ReadersOfHostsTest, TextsInOtherAlphabetsAreCutBetweenCharacters) {
  std::string text;
  while (text.size() < 20'000) text += "\xe2\x82\xac";
  Watch();
  std::thread reader([&] { WatchUntil(text); });
  PublishWhenWatched(text);
  reader.join();
}

TEST_F(ReadersOfHostsTest, AReaderGetsAllAlthoughLinksBreak) {
  postgres::Connection admin({.url = url_});
  Watch();
  std::string text = "0";
  std::thread reader([&] {
    std::string whole;
    for (int i = 0; i < 200; ++i) whole += std::to_string(i);
    WatchUntil(whole);
  });
  PublishWhenWatched(text);
  for (int i = 1; i < 200; ++i) {
    if (i % 50 == 0) {
      EXPECT_TRUE(admin
                      .Execute({"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
                                "datname = current_database() AND application_name = "
                                "'agent-graph-link'"})
                      .ok());
    }
    const std::string next = std::to_string(i);
    Publish(next, text.size());
    text += next;
  }
  reader.join();
}

}  // namespace
}  // namespace agent_graph::state
