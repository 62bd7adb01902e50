// agent_graph_status [format=text|json|prometheus];
#pragma once

#include "ngx_module/config.h"

namespace agent_graph::nginx {

// Handler of the directive: installs the content handler of the status page.
char* StatusDirective(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;

}  // namespace agent_graph::nginx
