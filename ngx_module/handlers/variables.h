// Variables for the access log.
#pragma once

#include "ngx_module/ngx.h"

namespace agent_graph::nginx {

ngx_int_t AddVariables(ngx_conf_t* cf) noexcept;

}  // namespace agent_graph::nginx
