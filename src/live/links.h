// A session's connections to its provider: the current link and the next one, which is prepared
// before the current one ends.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "realtime/link.h"

namespace agent_graph::live {

// Not thread-safe; used on the session's fiber. A link may be replaced while one of its own calls
// is on the stack, so a replaced link is destroyed only by the next TakeEvent.
class Links {
 public:
  // `wake` is called when a link may have events.
  explicit Links(std::function<void()> wake) : wake_(std::move(wake)) {}

  // Sets the provider of links that are opened from now on.
  void Use(realtime::Provider* provider) { provider_ = provider; }
  bool one_at_a_time() const { return provider_->one_link_at_a_time(); }
  bool resume() const { return provider_->resumes(); }

  // Opens a link as the current one. An open link is closed before.
  void Open(const realtime::LinkConfig& config);
  void Close() { gone_ = std::move(current_); }
  realtime::Link* current() { return current_.get(); }

  // Prepares the next link. BeginNext makes it the current one.
  void PrepareNext(const realtime::LinkConfig& config);
  void BeginNext(const realtime::LinkConfig& config);
  void DropNext() { gone_ = std::move(next_); }

  // Takes an event of the current link, or of the next one; nullopt if there is none.
  std::optional<realtime::Event> TakeEvent();
  std::optional<realtime::Event> TakeEventOfNext();
  Deadline wake_at() const;
  // Bytes that the links hold, for example because they wait for the network.
  size_t held_bytes() const;

 private:
  const std::function<void()> wake_;
  realtime::Provider* provider_ = nullptr;
  std::unique_ptr<realtime::Link> current_;
  std::unique_ptr<realtime::Link> next_;
  std::unique_ptr<realtime::Link> gone_;
};

}  // namespace agent_graph::live
