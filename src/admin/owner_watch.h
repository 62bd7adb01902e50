// Tells when a state directory has no owner any more, and none comes.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "base/status.h"
#include "state/owner/directory.h"

namespace agent_graph::admin {

class OwnerWatch {
 public:
  // `on_gone` is called at most once, on a thread of its own.
  OwnerWatch(const state::StateDirectory& directory, std::function<void()> on_gone);
  ~OwnerWatch();
  OwnerWatch(const OwnerWatch&) = delete;
  OwnerWatch& operator=(const OwnerWatch&) = delete;

  Status Start();
  // Whether the owner had gone by then.
  bool End();

 private:
  void Watch();

  const state::StateDirectory& directory_;
  const std::function<void()> on_gone_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  bool gone_ = false;
  std::thread thread_;
};

}  // namespace agent_graph::admin
