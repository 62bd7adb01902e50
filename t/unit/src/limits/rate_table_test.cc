#include "limits/rate_table.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <ctime>
#include <deque>
#include <memory>
#include <random>
#include <vector>

namespace agent_graph::limits {
namespace {

constexpr HashKey kSeed = {1, 2};

// A table in its own memory.
class Table {
 public:
  explicit Table(const RateLimitOptions& options, size_t bytes = 0)
      : memory_((bytes == 0 ? RateTable::BytesMin(options) : bytes) / 8 + 1),
        view_(Formatted(options)) {}
  RateDecision Check(std::string_view key, Millis now) { return view_.Check(key, now); }
  size_t capacity() const { return view_.capacity(); }

 private:
  void* Formatted(const RateLimitOptions& options) {
    RateTable::Format(memory_.data(), memory_.size() * 8, options, kSeed);
    return memory_.data();
  }
  std::vector<uint64_t> memory_;
  RateTable view_;
};

RateLimitOptions Limit(uint32_t requests, uint32_t seconds) {
  RateLimitOptions options;
  options.requests = requests;
  options.window_seconds = seconds;
  return options;
}

TEST(RateTable, AdmitsTheLimitAndReportsTheRemainder) {
  Table table(Limit(3, 60));
  for (uint32_t left : {2U, 1U, 0U}) {
    RateDecision decision = table.Check("a", 1000);
    EXPECT_TRUE(decision.admitted);
    EXPECT_EQ(decision.limit, 3U);
    EXPECT_EQ(decision.remaining, left);
    EXPECT_EQ(decision.reset_after_seconds, 60U);
  }
  RateDecision refused = table.Check("a", 31'000);
  EXPECT_FALSE(refused.admitted);
  EXPECT_EQ(refused.remaining, 0U);
  EXPECT_EQ(refused.reset_after_seconds, 31U);
  EXPECT_TRUE(table.Check("b", 31'000).admitted);
}

TEST(RateTable, AdmitsAfterTheAnnouncedWait) {
  for (uint32_t requests : {1U, 5U, 256U, 257U, 1000U}) {
    Table table(Limit(requests, 7));
    std::mt19937 random(requests);
    Millis now = 123'456'789;
    for (int round = 0; round < 20; ++round) {
      RateDecision decision;
      while ((decision = table.Check("a", now)).admitted) now += random() % 5;
      ASSERT_GE(decision.reset_after_seconds, 1U);
      ASSERT_LE(decision.reset_after_seconds, 8U);
      now += decision.reset_after_seconds * 1000;
      ASSERT_TRUE(table.Check("a", now).admitted) << requests;
    }
  }
}

TEST(RateTable, RefusalsAreNotRecorded) {
  Table table(Limit(1, 10));
  EXPECT_TRUE(table.Check("a", 0).admitted);
  for (Millis now = 1; now <= 10'000; now += 100) EXPECT_FALSE(table.Check("a", now).admitted);
  EXPECT_TRUE(table.Check("a", 10'001).admitted);
}

// For any arrivals, every interval as long as the window contains at most `limit` admissions.
TEST(RateTable, NoWindowHoldsMoreThanTheLimit) {
  for (uint32_t requests : {1U, 2U, 17U, 256U, 257U, 400U, 5000U}) {
    constexpr uint32_t kWindow = 3000;
    Table table(Limit(requests, kWindow / 1000));
    std::mt19937_64 random(requests);
    std::deque<Millis> admitted;
    Millis now = (Millis{1} << 32) - 5'000;  // the low half of the clock wraps
    uint64_t total = 0;
    const Millis pace = std::max<Millis>(1, 2 * kWindow / requests);
    for (int i = 0; i < 40'000; ++i) {
      now += random() % 64 == 0 ? random() % (2 * kWindow) : random() % pace;
      if (!table.Check("a", now).admitted) continue;
      ++total;
      admitted.push_back(now);
      while (now - admitted.front() > kWindow) admitted.pop_front();
      ASSERT_LE(admitted.size(), requests);
    }
    EXPECT_GT(total, requests);
  }
}

TEST(RateTable, CountedWindowsFreeTheirRoomBySubWindows) {
  constexpr uint32_t kRequests = 6400;
  Table table(Limit(kRequests, 64));
  Millis now = 1'000'000;
  uint32_t admitted = 0;
  // At a constant rate equal to the limit, nearly all requests are admitted.
  for (int i = 0; i < 64'000; ++i, now += 10) admitted += table.Check("a", now).admitted ? 1 : 0;
  EXPECT_GT(admitted, 60'000U);
}

TEST(RateTable, KeysAreKeptApartUpToHalfTheCapacity) {
  RateLimitOptions options = Limit(1, 1000);
  Table table(options, 4 * RateTable::BytesMin(options));
  const size_t keys = table.capacity() / 2;
  for (size_t i = 0; i < keys; ++i) {
    RateDecision decision = table.Check("key" + std::to_string(i), i);
    EXPECT_TRUE(decision.admitted);
    EXPECT_FALSE(decision.evicted);
  }
  for (size_t i = 0; i < keys; ++i) {
    EXPECT_FALSE(table.Check("key" + std::to_string(i), keys + i).admitted);
  }
}

TEST(RateTable, AFullTableForgetsOldKeysAndNeverRefusesNewOnes) {
  Table table(Limit(2, 1000));
  size_t evicted = 0;
  const size_t keys = 10 * table.capacity();
  for (size_t i = 0; i < keys; ++i) {
    RateDecision decision = table.Check("key" + std::to_string(i), i);
    EXPECT_TRUE(decision.admitted);
    evicted += decision.evicted ? 1 : 0;
    // A key in constant use is not evicted.
    table.Check("busy", i);
  }
  EXPECT_GT(evicted, 0U);
  EXPECT_FALSE(table.Check("busy", keys).admitted);
}

TEST(RateTable, IdleKeysMakeRoomWithoutEviction) {
  Table table(Limit(2, 1));
  size_t evicted = 0;
  for (size_t i = 0; i < 50'000; ++i) {
    evicted += table.Check("key" + std::to_string(i), i * 100).evicted ? 1 : 0;
  }
  EXPECT_EQ(evicted, 0U);
}

TEST(RateTable, KnowsWhetherItWasMadeForALimit) {
  RateLimitOptions options = Limit(10, 10);
  std::vector<uint64_t> memory(RateTable::BytesMin(options) / 8 + 1);
  RateTable::Format(memory.data(), memory.size() * 8, options, kSeed);
  EXPECT_TRUE(RateTable::Fits(memory.data(), options));
  EXPECT_FALSE(RateTable::Fits(memory.data(), Limit(11, 10)));
  EXPECT_FALSE(RateTable::Fits(memory.data(), Limit(10, 11)));
  options.by = RateLimitOptions::By::kGlobal;
  EXPECT_FALSE(RateTable::Fits(memory.data(), options));
}

TEST(RateTable, AGlobalLimitNeedsLittle) {
  RateLimitOptions options = Limit(256, 60);
  options.by = RateLimitOptions::By::kGlobal;
  EXPECT_LT(RateTable::BytesMax(options), 16U * 1024);
  Table table(options);
  for (int i = 0; i < 256; ++i) EXPECT_TRUE(table.Check("__global__", 5).admitted);
  EXPECT_FALSE(table.Check("__global__", 5).admitted);
}

// --- Eight processes with one table --------------------------------------------------------------

struct Shared {
  std::atomic<int> lock{0};
  std::atomic<uint32_t> admissions{0};
  Millis admitted_at[200'000];
};

Millis MonotonicMillis() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<Millis>(now.tv_sec) * 1000 + static_cast<Millis>(now.tv_nsec) / 1'000'000;
}

// Goes on for longer if a loaded machine has not let it begin in time.
void HammerTable(Shared& shared, RateTable table, Millis until, uint32_t admissions_min) {
  for (Millis now = 0; now < until || shared.admissions < admissions_min;) {
    while (shared.lock.exchange(1, std::memory_order_acquire) != 0) sched_yield();
    now = MonotonicMillis();
    if (table.Check("a", now).admitted) shared.admitted_at[shared.admissions++] = now;
    shared.lock.store(0, std::memory_order_release);
  }
}

void ExpectExactAcrossProcesses(uint32_t requests) {
  constexpr int kProcesses = 8;
  constexpr Millis kWindows = 2;
  RateLimitOptions options = Limit(requests, 1);
  const size_t table_bytes = RateTable::BytesMin(options);
  void* memory = mmap(nullptr, sizeof(Shared) + table_bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* shared = new (memory) Shared;
  RateTable::Format(shared + 1, table_bytes, options, kSeed);
  const Millis until = MonotonicMillis() + kWindows * 1000 + 500;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = fork();
    if (child < 0) break;  // the others end by themselves
    if (child == 0) {
      HammerTable(*shared, RateTable(shared + 1), until, requests);
      _exit(0);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  ASSERT_EQ(children.size(), size_t{kProcesses}) << "a process was not started";
  const uint32_t admissions = shared->admissions;
  EXPECT_GE(admissions, requests);
  for (uint32_t i = requests; i < admissions; ++i) {
    ASSERT_GT(shared->admitted_at[i] - shared->admitted_at[i - requests], 1000U);
  }
  munmap(memory, sizeof(Shared) + table_bytes);
}

TEST(RateTable, IsExactAcrossEightProcesses) {
  ExpectExactAcrossProcesses(100);
}

TEST(RateTable, CountedWindowsHoldAcrossEightProcesses) {
  ExpectExactAcrossProcesses(5000);
}

// --- The hash -----------------------------------------------------------------------------------

// Created with "openssl mac SIPHASH": key 00..0f, input of length n counting up from 00.
TEST(SipHash, GivesTheVectorsOfAnotherImplementation) {
  const HashKey key = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
  std::string text;
  for (char c = 0; c < 15; ++c) text += c;
  EXPECT_EQ(SipHash128(key, ""), (Hash128{0xe6a825ba047f81a3, 0x930255c71472f66d}));
  EXPECT_EQ(SipHash128(key, text.substr(0, 1)), (Hash128{0x44af996bd8c187da, 0x45fc229b11597634}));
  EXPECT_EQ(SipHash128(key, text), (Hash128{0x11a8b03399e99354, 0xd9c3cf970fec087e}));
}

}  // namespace
}  // namespace agent_graph::limits
