#include "bridge/inbox.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "bridge/exchange.h"
#include "exchange_fixture.h"
#include "runtime/runtime.h"

namespace agent_graph::bridge {
namespace {

TEST_F(ExchangeOnAFiber, InboxRefusesBeyondItsBoundAndAfterClose) {
  runtime::Signal go;
  std::atomic<int> handled{0};
  const Promise<bool> first_runs;
  Runtime narrow(RuntimeOptions{});
  ASSERT_TRUE(narrow.Start().ok());
  Inbox inbox(narrow, {.running_max = 1, .waiting_max = 2}, [&](const ExchangePtr& exchange) {
    if (++handled == 1) {
      first_runs.Set(true);
      go.Wait(nullptr, kNoDeadline);
    }
    exchange->End("ok");
  });
  ASSERT_TRUE(inbox.Submit(MakeExchange(outbox_)));
  ASSERT_TRUE(first_runs.Wait(nullptr, kNoDeadline).ok());
  EXPECT_EQ(inbox.running(), 1u);
  EXPECT_EQ(inbox.waiting(), 0u);
  EXPECT_TRUE(inbox.Submit(MakeExchange(outbox_)));
  EXPECT_TRUE(inbox.Submit(MakeExchange(outbox_)));
  EXPECT_FALSE(inbox.Submit(MakeExchange(outbox_)));
  EXPECT_EQ(inbox.waiting(), 2u);
  inbox.Close();
  go.Notify();
  ASSERT_TRUE(narrow.Stop(kNoDeadline).ok());
  EXPECT_EQ(handled, 3) << "what was accepted still runs";
  EXPECT_FALSE(inbox.Submit(MakeExchange(outbox_)));
  EXPECT_EQ(inbox.waiting(), 0u);
  EXPECT_EQ(inbox.running(), 0u);
}

TEST(Inbox, LeavesFibersForWhatRunsStart) {
  Outbox outbox;
  Runtime runtime(RuntimeOptions{.fibers_max = 4});
  ASSERT_TRUE(runtime.Start().ok());
  std::atomic<int> helped{0};
  Inbox inbox(runtime, {.running_max = 2, .waiting_max = 100}, [&](const ExchangePtr& exchange) {
    const Promise<bool> help;
    runtime.Spawn([help] { help.Set(true); });
    helped += help.Wait(nullptr, kNoDeadline).ok();
    exchange->End("ok");
  });
  for (uint32_t i = 0; i < 100; ++i) ASSERT_TRUE(inbox.Submit(MakeExchange(outbox, {}, {i, 1})));
  ASSERT_TRUE(runtime.Stop(kNoDeadline).ok());
  EXPECT_EQ(helped, 100);
}

TEST(Inbox, ManyQueuedExchangesEndWithAStoppedRuntime) {
  Outbox outbox;
  Runtime runtime(RuntimeOptions{});
  Inbox inbox(runtime, {.running_max = 1, .waiting_max = 100'000},
              [](const ExchangePtr& exchange) { exchange->End("ok"); });
  for (uint32_t i = 0; i < 100'000; ++i)
    ASSERT_TRUE(inbox.Submit(MakeExchange(outbox, {}, {i, 1})));
  ASSERT_TRUE(runtime.Stop(kNoDeadline).ok());  // never started, so nothing runs
  EXPECT_EQ(Take(outbox).size(), 100'000u);
  EXPECT_EQ(inbox.waiting(), 0u);
}

TEST(Inbox, EveryAcceptedExchangeEnds) {
  Outbox outbox;
  std::string reported;
  Runtime runtime(RuntimeOptions{.on_uncaught = [&](const std::string& line) { reported = line; }});
  ASSERT_TRUE(runtime.Start().ok());
  Inbox inbox(runtime, {.waiting_max = 10}, [](const ExchangePtr& exchange) {
    if (exchange->address().slot == 1) throw std::runtime_error("handler failed");
  });
  const auto thrown = MakeExchange(outbox, {}, {1, 1});  // references held by the event loop
  const auto forgotten = MakeExchange(outbox, {}, {2, 1});
  const auto too_late = MakeExchange(outbox, {}, {3, 1});
  ASSERT_TRUE(inbox.Submit(thrown));
  ASSERT_TRUE(inbox.Submit(forgotten));
  ASSERT_TRUE(runtime.Stop(kNoDeadline).ok());
  ASSERT_TRUE(inbox.Submit(too_late));
  const auto items = Take(outbox);
  ASSERT_EQ(items.size(), 3u);
  for (const auto& item : items) EXPECT_EQ(std::get<End>(item.payload).outcome, "error");
  EXPECT_NE(reported.find("handler failed"), std::string::npos);
}

}  // namespace
}  // namespace agent_graph::bridge
