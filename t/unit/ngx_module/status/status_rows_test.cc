#include "ngx_module/status/status_rows.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "ngx_module/status/service_zone.h"

// Replaces the parts of nginx that the rows use, and the shared memory by memory of the test.

namespace {

agent_graph::nginx::ServiceZone zone;
bool is_locked = false;
std::vector<bool> locked_at_looks;  // at each look for a process
ngx_time_t test_time;

}  // namespace

extern "C" {

ngx_pid_t ngx_pid = getpid();
ngx_uint_t ngx_worker;
volatile ngx_time_t* ngx_cached_time = &test_time;

// Replaces the function of the C library.
int kill(pid_t pid, int number) noexcept {
  locked_at_looks.push_back(is_locked);
  return static_cast<int>(syscall(SYS_kill, pid, number));
}

}  // extern "C"

namespace agent_graph::nginx {

ServiceZone* FindZone(const ServiceConfig&) {
  return &zone;
}

ZoneLock::ZoneLock(const ServiceConfig&) : pool_(nullptr) {
  EXPECT_FALSE(is_locked);
  is_locked = true;
}

ZoneLock::~ZoneLock() {
  is_locked = false;
}

namespace {

class StatusRows : public testing::Test {
 protected:
  StatusRows() {
    service.generation = 2;
    test_time.sec = 1;
    zone.row_count = rows.size();
    zone.rows = rows.data();
    zone.retired.Clear();
    zone.looked = 0;
    ClaimStatusRow(service);
    own = FindStatusRow(service);
    locked_at_looks.clear();
  }
  ~StatusRows() override { ReleaseStatusRow(service); }

  // A row of another worker that accepts connections. The init process is one that always runs.
  static void Occupy(StatusRow& row, int64_t pid = 1, uint64_t generation = 2) {
    row.started = 0;  // unknown
    row.generation = generation;
    row.draining = false;
    row.Set(StatusGauge::kUp, 1);
    row.pid = pid;
  }

  static int64_t EndedProcess() {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    waitpid(child, nullptr, 0);
    return child;
  }

  ServiceConfig service;
  std::array<StatusRow, 4> rows{};
  StatusRow* own = nullptr;
};

TEST_F(StatusRows, CountersOfADeadWorkerAreKept) {
  Occupy(rows[1], EndedProcess());
  Occupy(rows[2]);
  rows[1].counters.Add(StatusCounter::kDoorbells, 3);
  rows[1].counters.requests[1][2] = 5;
  zone.retired.Add(StatusCounter::kDoorbells, 4);
  ReleaseStatusRow(service);
  ClaimStatusRow(service);
  EXPECT_EQ(rows[1].pid, 0);
  EXPECT_EQ(rows[2].pid, 1);
  EXPECT_EQ(zone.retired.Get(StatusCounter::kDoorbells), 7u);
  EXPECT_EQ(zone.retired.requests[1][2], 5u);
  EXPECT_EQ(rows[1].counters.Get(StatusCounter::kDoorbells), 0u);
}

// Each request of the service may need the lock.
TEST_F(StatusRows, NoProcessIsLookedUpUnderTheLock) {
  Occupy(rows[1], EndedProcess());
  rows[1].Set(StatusGauge::kSockets, 1);
  EXPECT_TRUE(TakeSharedSocketPlace(service, 1)) << "the place of the dead worker";
  EXPECT_FALSE(locked_at_looks.empty());
  Occupy(rows[1], EndedProcess());
  ReleaseStatusRow(service);
  ClaimStatusRow(service);
  EXPECT_FALSE(LeaveToOthers(service, 1));
  EXPECT_EQ(locked_at_looks, std::vector<bool>(locked_at_looks.size(), false));
}

TEST_F(StatusRows, ARowThatHasChangedItsOwnerIsNotDead) {
  Occupy(rows[1], EndedProcess());
  const RowOwners owners(zone);
  EXPECT_TRUE(owners.HasDied(rows[1]));
  Occupy(rows[1]);
  EXPECT_FALSE(owners.HasDied(rows[1]));
}

TEST_F(StatusRows, AWorkerLeavesOnlyIfOthersAccept) {
  ASSERT_NE(own, nullptr);
  EXPECT_FALSE(LeaveToOthers(service, 1)) << "it is alone";
  Occupy(rows[1], 1, 1);
  EXPECT_FALSE(LeaveToOthers(service, 1)) << "the other one has an old configuration";
  Occupy(rows[1], EndedProcess());
  EXPECT_FALSE(LeaveToOthers(service, 1)) << "the other one is dead";
  Occupy(rows[1]);
  rows[1].Set(StatusGauge::kUp, 0);
  EXPECT_FALSE(LeaveToOthers(service, 1)) << "the other one has not started the service";
  Occupy(rows[1]);
  rows[1].draining = true;
  EXPECT_FALSE(LeaveToOthers(service, 1)) << "the other one leaves";
  Occupy(rows[1]);
  EXPECT_FALSE(LeaveToOthers(service, 2)) << "one is not enough";
  EXPECT_FALSE(own->draining);
  EXPECT_TRUE(LeaveToOthers(service, 1));
  EXPECT_TRUE(own->draining);
}

}  // namespace
}  // namespace agent_graph::nginx
