// The state server's replies while its database cannot be opened: kUnavailable to everything.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "state/gateway/server.h"

namespace agent_graph::state {

// Events of a Server without a database. StepDown frames are still passed to `on_step_down`, so
// that the lock can be handed over.
class RefusingEvents : public ServerEvents {
 public:
  explicit RefusingEvents(std::function<void(uint64_t generation)> on_step_down)
      : on_step_down_(std::move(on_step_down)) {}

  bool OnFrame(const std::shared_ptr<Connection>& connection, std::string payload) override;
  void OnClosed(const std::shared_ptr<Connection>&) override {}

 private:
  std::function<void(uint64_t generation)> on_step_down_;
};

}  // namespace agent_graph::state
