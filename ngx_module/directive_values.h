// Setters of directives with one value. They work like nginx's own slot setters, but their error
// messages name the directive, the value as written and the allowed values.
#pragma once

#include "ngx_module/ngx.h"

namespace agent_graph::nginx {

// Sets an ngx_msec_t field, which must be NGX_CONF_UNSET_MSEC before (otherwise "is duplicate").
char* TimeDirective(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;
// The same, but rejects 0.
char* PositiveTimeDirective(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;
// Sets a size_t field, which must be NGX_CONF_UNSET_SIZE before; rejects 0.
char* PositiveSizeDirective(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;
// Sets an ngx_uint_t field, which must be NGX_CONF_UNSET_UINT before, to a named value from the
// ngx_conf_enum_t table in the command's `post`.
char* ChoiceDirective(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;

// Rejects a value with a "$": it would look like a variable, but is taken as written.
char* RefuseVariables(ngx_conf_t* cf, const ngx_str_t& value) noexcept;

// Checks the value of a directive that names a folder of pages, or "off". It rejects variables. A
// folder that cannot be read causes a warning only, because the service works without its pages.
char* CheckFolder(ngx_conf_t* cf, const ngx_str_t& folder) noexcept;

// Logs `"<directive>": "<value>" <reason>` and returns NGX_CONF_ERROR.
char* RefuseValue(ngx_conf_t* cf, const ngx_str_t& value, const char* reason) noexcept;

}  // namespace agent_graph::nginx
