// The connections of a session to its provider: the present one and the one that is prepared.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "realtime/link.h"

namespace agent_graph::live {

// A link that is replaced is not destroyed while it is asked: it goes with the next question.
class Links {
 public:
  // Called when there may be news.
  explicit Links(std::function<void()> wake) : wake_(std::move(wake)) {}

  // Of the links that are made from now on.
  void Use(realtime::Provider* provider) { provider_ = provider; }
  bool one_at_a_time() const { return provider_->one_link_at_a_time(); }
  bool resume() const { return provider_->resumes(); }

  void Open(const realtime::LinkConfig& config);
  void Close() { gone_ = std::move(present_); }
  realtime::Link* present() { return present_.get(); }

  void PrepareNext(const realtime::LinkConfig& config);
  void BeginNext(const realtime::LinkConfig& config);
  void DropNext() { gone_ = std::move(next_); }

  std::optional<realtime::Event> TakeEvent();
  std::optional<realtime::Event> TakeEventOfNext();
  Deadline wake_at() const;

 private:
  const std::function<void()> wake_;
  realtime::Provider* provider_ = nullptr;
  std::unique_ptr<realtime::Link> present_;
  std::unique_ptr<realtime::Link> next_;
  std::unique_ptr<realtime::Link> gone_;
};

}  // namespace agent_graph::live
