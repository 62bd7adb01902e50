// Exception barrier for callbacks from nginx: its frames cannot handle C++ exceptions.
#pragma once

#include <exception>
#include <utility>

#include "ngx_module/ngx.h"

namespace agent_graph::nginx {

// Runs `body`. An exception is logged as an alert, and `failure` is returned.
template <typename Value, typename Body>
Value Guarded(ngx_log_t* log, Value failure, Body&& body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (const std::exception& error) {
    ngx_log_error(NGX_LOG_ALERT, log, 0, "agent_graph: unexpected exception: %s", error.what());
  } catch (...) {
    ngx_log_error(NGX_LOG_ALERT, log, 0, "agent_graph: unexpected exception");
  }
  return failure;
}

template <typename Body>
void Guarded(ngx_log_t* log, Body&& body) noexcept {
  Guarded(log, 0, [&] {
    std::forward<Body>(body)();
    return 0;
  });
}

}  // namespace agent_graph::nginx
