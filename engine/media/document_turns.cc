#include "media/document_turns.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace agent_graph::media {

bool DocumentTurns::Take(const std::string& user, Deadline deadline) {
  const auto turn = std::make_shared<Turn>();
  {
    MutexLock lock(mutex_);
    const auto entry = users_.try_emplace(user).first;
    // No waiting call is overtaken: if a turn is free, every waiting user already has the maximum
    // per user.
    if (running_ < kRunningMax && entry->second.running < kRunningPerUserMax) {
      ++running_;
      ++entry->second.running;
      return true;
    }
    if (waiting_.size() >= kWaitingMax || entry->second.waiting >= kWaitingPerUserMax) {
      ForgetIdle(entry);
      return false;
    }
    ++entry->second.waiting;
    waiting_.push_back({entry, turn});
  }
  if (turn->Wait(nullptr, deadline).ok()) return true;
  MutexLock lock(mutex_);
  const auto place = std::ranges::find(waiting_, turn, &Waiting::turn);
  if (place == waiting_.end()) return true;  // the turn was given at the last moment
  const auto entry = place->user;
  waiting_.erase(place);
  --entry->second.waiting;
  ForgetIdle(entry);
  return false;
}

void DocumentTurns::End(const std::string& user, MonotonicClock::duration lasted) {
  std::shared_ptr<Turn> next;
  {
    MutexLock lock(mutex_);
    const auto entry = users_.find(user);
    --running_;
    --entry->second.running;
    entry->second.spent += lasted;
    next = ChooseNext();
    ForgetIdle(entry);
  }
  if (next != nullptr) next->Set(true);
}

size_t DocumentTurns::waiting() const {
  MutexLock lock(mutex_);
  return waiting_.size();
}

void DocumentTurns::ForgetIdle(Users::iterator user) {
  if (user->second.running == 0 && user->second.waiting == 0) users_.erase(user);
}

// Null if every waiting user already has the maximum per user.
std::shared_ptr<DocumentTurns::Turn> DocumentTurns::ChooseNext() {
  auto chosen = waiting_.end();
  for (auto place = waiting_.begin(); place != waiting_.end(); ++place) {
    const User& user = place->user->second;
    if (user.running >= kRunningPerUserMax) continue;
    if (chosen == waiting_.end()) {
      chosen = place;
      continue;
    }
    const User& best = chosen->user->second;
    if (std::tie(user.running, user.spent) < std::tie(best.running, best.spent)) chosen = place;
  }
  if (chosen == waiting_.end()) return nullptr;
  User& user = chosen->user->second;
  ++running_;
  ++user.running;
  --user.waiting;
  std::shared_ptr<Turn> turn = std::move(chosen->turn);
  waiting_.erase(chosen);
  return turn;
}

}  // namespace agent_graph::media
