// The tables that nginx reads from a dynamic module. nginx's own build generates them; these are
// for a build with CMake alone.
#include "ngx_module/ngx.h"

#define EXPORTED __attribute__((visibility("default")))

static char module_name[] = "ngx_http_agent_graph_module";
static char filter_name[] = "ngx_http_agent_graph_filter_module";
static char header_filter_name[] = "ngx_http_agent_graph_header_filter_module";
// Filters run in reverse order: ours runs after that of add_header.
static char before[] = "ngx_http_headers_filter_module";

extern "C" {

EXPORTED ngx_module_t* ngx_modules[] = {&ngx_http_agent_graph_module,
                                        &ngx_http_agent_graph_filter_module,
                                        &ngx_http_agent_graph_header_filter_module, nullptr};
EXPORTED char* ngx_module_names[] = {module_name, filter_name, header_filter_name, nullptr};
EXPORTED char* ngx_module_order[] = {header_filter_name, before, nullptr};
}
