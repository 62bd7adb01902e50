// Setters of directives with one value. Like nginx's own slots, but their errors name the
// directive, the value as it was written and the values that are allowed.
#pragma once

#include "ngx.h"

namespace agent_graph::nginx {

// A time in an ngx_msec_t that is NGX_CONF_UNSET_MSEC until then.
char* TimeDirective(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;
// The same, and 0 is refused.
char* PositiveTimeDirective(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;
// A size in a size_t that is NGX_CONF_UNSET_SIZE until then; 0 is refused.
char* PositiveSizeDirective(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;
// A name of the ngx_conf_enum_t table that is the command's `post`, in an ngx_uint_t that is
// NGX_CONF_UNSET_UINT until then.
char* ChoiceDirective(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;

// Logs `"<directive>": "<value>" <reason>`. Returns NGX_CONF_ERROR.
char* RefuseValue(ngx_conf_t* cf, const ngx_str_t& value, const char* reason) noexcept;

}  // namespace agent_graph::nginx
