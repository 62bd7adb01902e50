// A random secret that all workers of a service share. The state keeps it, so that texts which one
// worker has sealed can be opened by the others, and after a restart.
#pragma once

#include <string>

#include "base/mutex.h"
#include "base/status.h"

namespace agent_graph::state {
class Service;
}

namespace agent_graph::api {

// Thread-safe. Get may suspend the calling fiber.
class ServiceSecret {
 public:
  // Returns 32 bytes, which the first caller of all workers has made. Errors as of the state.
  Result<std::string> Get(state::Service& state);

 private:
  std::string Known() const;

  mutable Mutex mutex_;
  std::string bytes_ AG_GUARDED_BY(mutex_);  // empty: not read yet
};

}  // namespace agent_graph::api
