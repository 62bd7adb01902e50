// A fair queue for extracting text from documents: few documents at a time, shared among users.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "runtime/signal.h"

namespace agent_graph::media {

// Thread-safe. One user never has all turns, so slow documents delay only the documents of the same
// user. The next turn goes to the waiting user with the fewest running turns, then to the one whose
// documents have taken the least time so far, then to the one who has waited longest.
class DocumentTurns {
 public:
  static constexpr size_t kRunningMax = 3;
  static constexpr size_t kRunningPerUserMax = 2;
  static constexpr size_t kWaitingMax = 1024;
  static constexpr size_t kWaitingPerUserMax = 256;

  // Suspends the calling fiber until it gets a turn. False if there is no turn before `deadline` or
  // too many calls are waiting. After true call End.
  bool Take(const std::string& user, Deadline deadline);
  // Returns a turn that lasted this long.
  void End(const std::string& user, MonotonicClock::duration lasted);
  // Number of waiting calls of Take.
  size_t waiting() const;

 private:
  using Turn = runtime::Promise<bool>;

  struct User {
    size_t running = 0;
    size_t waiting = 0;
    MonotonicClock::duration spent{};  // reset when the user has no turn and no waiting call
  };
  using Users = std::map<std::string, User>;

  struct Waiting {
    Users::iterator user;
    std::shared_ptr<Turn> turn;
  };

  void ForgetIdle(Users::iterator user) AG_REQUIRES(mutex_);
  std::shared_ptr<Turn> ChooseNext() AG_REQUIRES(mutex_);

  mutable Mutex mutex_;
  Users users_ AG_GUARDED_BY(mutex_);  // those who have a turn or wait
  size_t running_ AG_GUARDED_BY(mutex_) = 0;
  std::deque<Waiting> waiting_ AG_GUARDED_BY(mutex_);  // the first came first
};

}  // namespace agent_graph::media
