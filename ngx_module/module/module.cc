// The module's tables and hooks for nginx. Each hook is a function in another file.
#include "ngx_module/config.h"
#include "ngx_module/handlers/variables.h"
#include "ngx_module/ngx.h"
#include "ngx_module/process/error_log.h"
#include "ngx_module/process/process.h"
#include "ngx_module/request/rate_limit.h"

using namespace agent_graph::nginx;  // NOLINT: the tables below use C types

namespace {

ngx_int_t FinishConfiguration(ngx_conf_t* cf) noexcept {
  for (auto* step : {CheckStateDirectories, AddRateLimit, HideTokensInErrorLog}) {
    if (ngx_int_t rc = step(cf); rc != NGX_OK) return rc;
  }
  return NGX_OK;
}

ngx_http_module_t module_context = {
    AddVariables,                                                 // preconfiguration
    FinishConfiguration,                                          // postconfiguration
    CreateMainConfig,     InitMainConfig,      nullptr, nullptr,  // server configuration
    CreateLocationConfig, MergeLocationConfig,
};

}  // namespace

extern "C" {

ngx_module_t ngx_http_agent_graph_module = {
    NGX_MODULE_V1, &module_context,       kDirectives, NGX_HTTP_MODULE,
    nullptr,      // init_master
    InitModule,   // in the master
    InitProcess,  // in each process
    nullptr,      // init_thread
    nullptr,      // exit_thread
    ExitProcess,  // in workers
    ExitMaster,    NGX_MODULE_V1_PADDING,
};
}
