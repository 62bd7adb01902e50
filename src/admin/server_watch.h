// Watches a state directory and reports when its state server is gone and no other starts.
#pragma once

#include <functional>
#include <thread>

#include "base/mutex.h"
#include "base/status.h"
#include "state/directory/state_directory.h"

namespace agent_graph::admin {

class ServerWatch {
 public:
  // `on_gone` is called at most once, on the thread of the watch.
  ServerWatch(const state::StateDirectory& directory, std::function<void()> on_gone);
  ~ServerWatch();
  ServerWatch(const ServerWatch&) = delete;
  ServerWatch& operator=(const ServerWatch&) = delete;

  // Starts the thread, which checks once per second. `directory` must outlive it.
  Status Start();
  // Stops the thread and waits for it. Returns true if the state server was gone by then.
  bool End();

 private:
  void Watch();

  const state::StateDirectory& directory_;
  const std::function<void()> on_gone_;
  Mutex mutex_;
  CondVar changed_;
  bool ended_ AG_GUARDED_BY(mutex_) = false;
  bool gone_ AG_GUARDED_BY(mutex_) = false;

  std::thread thread_;
};

}  // namespace agent_graph::admin
