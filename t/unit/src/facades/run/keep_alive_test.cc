#include "facades/run/keep_alive.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "runtime/runtime.h"

namespace agent_graph::facades {
namespace {

using std::chrono::milliseconds;

class KeepAliveTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(runtime_.Start().ok()); }
  void TearDown() override { EXPECT_TRUE(runtime_.Stop(DeadlineAfter(milliseconds(10'000))).ok()); }

  // Runs the body on a fiber, and waits for its end.
  void OnFiber(const std::function<void()>& body) {
    runtime::Signal done;
    runtime_.Spawn([&] {
      body();
      done.Notify();
    });
    (void)done.Wait(nullptr, kNoDeadline);
  }

  runtime::Runtime runtime_{runtime::RuntimeOptions{}};
};

TEST_F(KeepAliveTest, BeatsAgainAndAgainWhileNothingHappens) {
  OnFiber([] {
    int beats = 0;
    runtime::Signal enough;
    std::optional<KeepAlive> keep_alive;
    keep_alive.emplace(milliseconds(1), [&] {
      if (++beats == 3) enough.Notify();
    });
    (void)enough.Wait(nullptr, kNoDeadline);
    EXPECT_GE(beats, 3);
  });
}

TEST_F(KeepAliveTest, TheIntervalMayGrow) {
  OnFiber([] {
    int beats = 0;
    const KeepAlive growing(milliseconds(1), [&] { ++beats; }, std::chrono::hours(1));
    // Meanwhile one without growth beats often.
    int others = 0;
    runtime::Signal enough;
    const KeepAlive steady(milliseconds(1), [&] {
      if (++others == 100) enough.Notify();
    });
    (void)enough.Wait(nullptr, kNoDeadline);
    EXPECT_LT(beats, 30);
  });
}

TEST_F(KeepAliveTest, DoesNotBeatWithinATurn) {
  OnFiber([] {
    bool in_turn = true;
    runtime::Signal beaten;
    std::optional<KeepAlive> keep_alive;
    keep_alive.emplace(milliseconds(1), [&] {
      EXPECT_FALSE(in_turn);
      beaten.Notify();
    });
    {
      const KeepAlive::Turn turn(keep_alive);
      // Meanwhile one without a turn beats several times.
      int beats = 0;
      runtime::Signal enough;
      const KeepAlive other(milliseconds(1), [&] {
        if (++beats == 5) enough.Notify();
      });
      (void)enough.Wait(nullptr, kNoDeadline);
      in_turn = false;
    }
    (void)beaten.Wait(nullptr, kNoDeadline);
  });
}

TEST_F(KeepAliveTest, ATurnWaitsForABeat) {
  OnFiber([] {
    bool is_beating = false;
    runtime::Signal begun;
    runtime::Signal go_on;
    std::optional<KeepAlive> keep_alive;
    keep_alive.emplace(milliseconds(1), [&] {
      is_beating = true;
      begun.Notify();
      (void)go_on.Wait(nullptr, kNoDeadline);
      is_beating = false;
    });
    (void)begun.Wait(nullptr, kNoDeadline);
    runtime::Runtime::Current()->Spawn([&] { go_on.Notify(); }, /*here=*/true);
    {
      const KeepAlive::Turn turn(keep_alive);
      EXPECT_FALSE(is_beating);
    }
    // The end does so, too.
    (void)begun.Wait(nullptr, kNoDeadline);
    runtime::Runtime::Current()->Spawn([&] { go_on.Notify(); }, /*here=*/true);
  });
}

}  // namespace
}  // namespace agent_graph::facades
