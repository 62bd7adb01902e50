// Many producers on engine threads and one event loop, which is a plain thread instead of nginx's.
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "bridge/inbox.h"
#include "runtime/runtime.h"

namespace agent_graph::bridge {
namespace {

constexpr std::chrono::minutes kLong{10};

using runtime::CancelReason;
using runtime::Runtime;
using runtime::RuntimeOptions;

constexpr int kExchanges = 300;
constexpr size_t kRunning = 50;
constexpr int kChunks = 100;
constexpr CreditLimits kCredit{.high = 512, .low = 128};

std::string Line(uint32_t slot, int number) {
  return std::to_string(slot) + ":" + std::to_string(number) + ";";
}

// The loop's data of one exchange.
struct Slot {
  ExchangePtr exchange;
  std::string expected;
  std::string received;
  uint64_t unreturned = 0;
  bool head = false;
  bool ended = false;
  std::string outcome;
};

class Loop {
 public:
  explicit Loop(Runtime& runtime)
      : inbox_(runtime, {.running_max = kRunning, .waiting_max = kExchanges},
               [](const ExchangePtr& exchange) { Serve(*exchange); }) {}

  void Run() {
    slots_.resize(kExchanges);
    for (uint32_t slot = 0; slot < kExchanges; ++slot) Open(slot);
    while (open_ > 0) {
      pollfd descriptor{outbox_.doorbell(), POLLIN, 0};
      ASSERT_EQ(poll(&descriptor, 1, -1), 1);
      outbox_.ClearDoorbell();
      outbox_.Swap(items_);
      for (OutboxItem& item : items_) Handle(item);
      ReturnCredits();
    }
  }

  void Check() const {
    for (uint32_t slot = 0; slot < kExchanges; ++slot) {
      const Slot& state = slots_[slot];
      EXPECT_TRUE(state.ended);
      if (slot % 10 == 3) continue;  // cancelled at some time
      EXPECT_EQ(state.received, state.expected);
      EXPECT_EQ(state.outcome, "ok");
    }
  }

 private:
  static void Serve(Exchange& exchange) {
    const Result<Body> body = exchange.body().Take(kNoDeadline);
    if (!body.ok()) return exchange.End("cancelled");
    exchange.SendHead(ReplyHead{});
    for (int i = 0; i < kChunks; ++i) {
      if (i % 16 == 0) {
        static_cast<void>(runtime::SleepFor(std::chrono::milliseconds(1), nullptr));
      }
      if (!exchange.Send(body->bytes + std::to_string(i) + ";", kLong).ok()) {
        return exchange.End("cancelled");
      }
    }
    exchange.End("ok");
  }

  void Open(uint32_t slot) {
    Slot& state = slots_[slot];
    for (int i = 0; i < kChunks; ++i) state.expected += Line(slot, i);
    state.exchange =
        std::make_shared<Exchange>(ExchangeAddress{slot, 1}, RequestHead{}, outbox_, kCredit);
    ++open_;
    ASSERT_TRUE(inbox_.Submit(state.exchange));
    if (slot % 20 == 3) state.exchange->Cancel(CancelReason::kClientGone);
  }

  void Handle(OutboxItem& item) {
    const uint32_t number = item.address.slot;
    Slot& slot = slots_[number];
    ASSERT_FALSE(slot.ended) << "an item after the end";
    if (std::holds_alternative<ReadBody>(item.payload)) {
      slot.exchange->body().Deliver(Body{.bytes = std::to_string(number) + ":"});
    } else if (std::holds_alternative<SendHead>(item.payload)) {
      slot.head = true;
    } else if (auto* chunk = std::get_if<SendChunk>(&item.payload)) {
      ASSERT_TRUE(slot.head);
      slot.received += chunk->bytes;
      slot.unreturned += chunk->bytes.size();
      ASSERT_LE(slot.unreturned, kCredit.high + 32);
      if (number % 20 == 13) slot.exchange->Cancel(CancelReason::kClientGone);
    } else if (auto* end = std::get_if<End>(&item.payload)) {
      slot.ended = true;
      slot.outcome = end->outcome;
      slot.exchange.reset();
      --open_;
    }
  }

  // Simulates slow readers: queued bytes of an exchange leave nginx in pieces, some of them now.
  void ReturnCredits() {
    for (Slot& slot : slots_) {
      if (slot.exchange == nullptr || slot.unreturned == 0) continue;
      const uint64_t bytes = std::min<uint64_t>(slot.unreturned, 200);
      slot.unreturned -= bytes;
      slot.exchange->ReturnCredit(bytes);
    }
    // The rest must be returned here, because no further item may wake this loop.
    for (Slot& slot : slots_) {
      if (slot.exchange == nullptr || slot.unreturned == 0) continue;
      slot.exchange->ReturnCredit(std::exchange(slot.unreturned, 0));
    }
  }

  Outbox outbox_;
  Inbox inbox_;
  std::vector<Slot> slots_;
  std::vector<OutboxItem> items_;
  int open_ = 0;
};

TEST(BridgeStress, ManyProducersOneLoop) {
  Runtime runtime(RuntimeOptions{.threads = 3});
  ASSERT_TRUE(runtime.Start().ok());
  Loop loop(runtime);
  loop.Run();
  EXPECT_TRUE(runtime.Stop(kNoDeadline).ok());
  loop.Check();
}

}  // namespace
}  // namespace agent_graph::bridge
