// Keeps the connection of a run open that reports nothing for long: proxies and clients close one
// on which nothing comes.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "runtime/alarm.h"
#include "runtime/signal.h"

namespace agent_graph::facades {

// As a RunFollower has it.
inline constexpr std::chrono::milliseconds kKeepAliveInterval{10'000};

// For a run that the request executes itself. Created and destroyed by the fiber of the request. A
// waiting run has no second fiber: one is made for each beat.
class KeepAlive {
 private:
  struct State;

 public:
  // `beat` is called on a fiber when no Turn was held for `interval`, and may suspend it; it ends
  // by a deadline of its own. It reports no failure: if the client has gone, the request is
  // cancelled. With `interval_max` the interval doubles with each beat, up to it.
  KeepAlive(std::chrono::milliseconds interval, std::function<void()> beat,
            std::chrono::milliseconds interval_max = {});
  // Waits for a beat in progress.
  ~KeepAlive();
  KeepAlive(const KeepAlive&) = delete;
  KeepAlive& operator=(const KeepAlive&) = delete;

  // While it is held, there is no beat. The constructor waits for one in progress. On any thread;
  // turns do not overlap. nullopt: there are no beats yet.
  class Turn {
   public:
    explicit Turn(std::optional<KeepAlive>& keep_alive);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    State* const state_;
  };

 private:
  enum class Phase : uint8_t {
    kIdle,
    kTurn,
    kDue,   // a fiber was made for a beat, and has not begun it
    kBeat,  // a beat is in progress
  };
  struct State {
    // Waits for a beat in progress, and prevents further ones.
    void EnterTurn();
    void LeaveTurn();
    // Returns false if a turn was taken before the beat began.
    bool EnterBeat();
    void LeaveBeat();

    Mutex mutex;
    Phase phase AG_GUARDED_BY(mutex) = Phase::kIdle;
    MonotonicClock::time_point quiet_since AG_GUARDED_BY(mutex) = MonotonicClock::now();
    runtime::Signal* waiting AG_GUARDED_BY(mutex) = nullptr;  // in EnterTurn
  };

  static void OnAlarm(void* context);
  // Returns true if a beat is due now. Sets when to look again.
  bool IsDue();

  std::chrono::milliseconds interval_;  // of the alarm's thread
  const std::chrono::milliseconds interval_max_;
  const std::shared_ptr<const std::function<void()>> beat_;
  // The fiber of a beat that was not begun may outlive this object.
  const std::shared_ptr<State> state_ = std::make_shared<State>();
  runtime::Alarm alarm_;
};

}  // namespace agent_graph::facades
