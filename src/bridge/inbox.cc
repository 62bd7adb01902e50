#include "bridge/inbox.h"

#include <memory>
#include <utility>

namespace agent_graph::bridge {
namespace {

// An accepted exchange on its way through the engine. However its fiber ends, and also when there
// never is one, the client gets an end.
class Admission {
 public:
  Admission(ExchangePtr exchange, std::atomic<size_t>& waiting, std::atomic<size_t>& running)
      : exchange_(std::move(exchange)), waiting_(waiting), running_(running) {}
  ~Admission() {
    exchange_->End("error");
    --(started_ ? running_ : waiting_);
  }
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;

  const ExchangePtr& Begin() {
    started_ = true;
    ++running_;
    --waiting_;
    return exchange_;
  }

 private:
  const ExchangePtr exchange_;
  std::atomic<size_t>& waiting_;
  std::atomic<size_t>& running_;
  bool started_ = false;
};

}  // namespace

Inbox::Inbox(runtime::Runtime& runtime, size_t waiting_max, Handler handler)
    : runtime_(runtime), waiting_max_(waiting_max), handler_(std::move(handler)) {}

bool Inbox::Submit(ExchangePtr exchange) {
  if (closed_) return false;
  if (waiting_.fetch_add(1) >= waiting_max_) {
    --waiting_;
    return false;
  }
  auto admission = std::make_shared<Admission>(std::move(exchange), waiting_, running_);
  runtime_.Spawn([this, admission = std::move(admission)] { handler_(admission->Begin()); });
  return true;
}

}  // namespace agent_graph::bridge
