// A fair queue for the extraction of text from documents: few at a time, shared among users.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "runtime/signal.h"

namespace agent_graph::media {

// Thread-safe. One user never has all turns, so that documents which take long delay those of their
// user alone. Among those who wait, the user who has the fewest turns is next, then the one whose
// documents took the least time so far, then the first who came.
class DocumentTurns {
 public:
  static constexpr size_t kRunningMax = 3;
  static constexpr size_t kRunningPerUserMax = 2;
  static constexpr size_t kWaitingMax = 1024;
  static constexpr size_t kWaitingPerUserMax = 256;

  // Suspends the calling fiber until it is the user's turn. False: not before `deadline`, or too
  // many wait already.
  bool Take(const std::string& user, Deadline deadline);
  // Gives a turn back that lasted so long.
  void End(const std::string& user, MonotonicClock::duration lasted);
  // How many calls of Take wait.
  size_t waiting() const;

 private:
  using Turn = runtime::Promise<bool>;

  struct User {
    size_t running = 0;
    size_t waiting = 0;
    MonotonicClock::duration spent{};  // while there is an entry for the user
  };
  using Users = std::map<std::string, User>;

  struct Waiting {
    Users::iterator user;
    std::shared_ptr<Turn> turn;
  };

  void ForgetIdle(Users::iterator user);
  std::shared_ptr<Turn> ChooseNext();

  mutable std::mutex mutex_;
  Users users_;                  // guarded by mutex_; those who have a turn or wait
  size_t running_ = 0;           // guarded by mutex_
  std::deque<Waiting> waiting_;  // guarded by mutex_; the first came first
};

}  // namespace agent_graph::media
