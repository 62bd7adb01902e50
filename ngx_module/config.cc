#include "ngx_module/config.h"

namespace agent_graph::nginx {

MainConfig* FindMainConfig(const ngx_cycle_t& cycle) {
  if (cycle.conf_ctx[ngx_http_module.index] == nullptr) return nullptr;
  return static_cast<MainConfig*>(
      ngx_http_cycle_get_module_main_conf((&cycle), ngx_http_agent_graph_module));
}

ngx_msec_t ShutdownJitter() {
  return FindMainConfig(const_cast<ngx_cycle_t&>(*ngx_cycle))->shutdown_jitter;
}

uint64_t BodyBytesMax(const LocationConfig& location) {
  return location.json_max_size != NGX_CONF_UNSET_SIZE
             ? location.json_max_size
             : location.service->settings->limits.json_bytes_max;
}

}  // namespace agent_graph::nginx
