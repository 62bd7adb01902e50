#include "bridge/inbox.h"

#include <memory>
#include <utility>

#include "base/check.h"

namespace agent_graph::bridge {

// Holds an exchange while it is in the engine. Its destructor runs however the fiber ends, and also
// if no fiber ever starts: it ends the exchange and starts the next one in the queue.
class Inbox::Admission {
 public:
  Admission(ExchangePtr exchange, Inbox& inbox) : exchange_(std::move(exchange)), inbox_(inbox) {}
  ~Admission() {
    // An accepted WebSocket stays open after a turn.
    if (!exchange_->is_open_socket()) exchange_->End("error");
    Leave();
    inbox_.StartQueued();
  }
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;

  const ExchangePtr& Begin() {
    begun_ = true;
    MutexLock lock(inbox_.mutex_);
    ++inbox_.begun_;
    return exchange_;
  }

 private:
  void Leave() {
    MutexLock lock(inbox_.mutex_);
    AG_CHECK(inbox_.admitted_ > 0 && inbox_.begun_ <= inbox_.admitted_,
             "an exchange is at work from its admission to its end");
    --inbox_.admitted_;
    if (begun_) --inbox_.begun_;
  }

  const ExchangePtr exchange_;
  Inbox& inbox_;
  bool begun_ = false;
};

Inbox::Inbox(runtime::Runtime& runtime, InboxLimits limits, Handler handler)
    : runtime_(runtime), limits_(limits), handler_(std::move(handler)) {}

bool Inbox::Submit(ExchangePtr exchange) {
  if (closed_) return false;
  {
    MutexLock lock(mutex_);
    if (queue_.size() + admitted_ - begun_ >= limits_.waiting_max) return false;
    queue_.push_back(std::move(exchange));
  }
  StartQueued();
  return true;
}

bool Inbox::Resume(ExchangePtr exchange) {
  if (closed_) return false;
  {
    MutexLock lock(mutex_);
    queue_.push_back(std::move(exchange));
  }
  StartQueued();
  return true;
}

void Inbox::StartQueued() {
  MutexLock lock(mutex_);
  // A stopped runtime destroys the function at once, and with it the admission, whose destructor
  // calls this function again. The outer call then goes on.
  if (std::exchange(starting_, true)) return;
  while (admitted_ < limits_.running_max && !queue_.empty()) {
    auto admission = std::make_shared<Admission>(std::move(queue_.front()), *this);
    queue_.pop_front();
    ++admitted_;
    lock.Unlock();
    runtime_.Spawn([this, admission = std::move(admission)] { handler_(admission->Begin()); });
    lock.Lock();
  }
  starting_ = false;
}

size_t Inbox::waiting() const {
  MutexLock lock(mutex_);
  return queue_.size() + admitted_ - begun_;
}

size_t Inbox::running() const {
  MutexLock lock(mutex_);
  return begun_;
}

}  // namespace agent_graph::bridge
