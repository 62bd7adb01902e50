#include "ngx_module/handlers/variables.h"

#include "ngx_module/callback.h"
#include "ngx_module/request/request_context.h"

namespace agent_graph::nginx {
namespace {

constexpr unsigned kVariableBytesMax = (1u << 28) - 1;  // nginx stores the length in 28 bits

using TextOf = std::string_view (*)(const RequestContext&);
// Returns microseconds; negative if the value does not exist.
using TimeOf = int64_t (*)(const RequestContext&);

ngx_int_t SetValue(ngx_http_request_t* request, ngx_http_variable_value_t* value,
                   std::string_view text) {
  if (text.empty()) {
    value->not_found = 1;
    return NGX_OK;
  }
  ngx_str_t copy = CopyToPool(request->pool, text.substr(0, kVariableBytesMax));
  if (copy.data == nullptr) return NGX_ERROR;
  value->data = copy.data;
  value->len = static_cast<unsigned>(copy.len) & kVariableBytesMax;
  value->valid = 1;
  value->no_cacheable = 0;
  value->not_found = 0;
  return NGX_OK;
}

template <TextOf text_of>
ngx_int_t TextVariable(ngx_http_request_t* request, ngx_http_variable_value_t* value,
                       uintptr_t) noexcept {
  const RequestContext* context = FindContext(request);
  return SetValue(request, value, context == nullptr ? "" : text_of(*context));
}

// Seconds with three decimals, like $request_time.
template <TimeOf time_of>
ngx_int_t TimeVariable(ngx_http_request_t* request, ngx_http_variable_value_t* value,
                       uintptr_t) noexcept {
  const RequestContext* context = FindContext(request);
  int64_t micros = context == nullptr ? -1 : time_of(*context);
  if (micros < 0) return SetValue(request, value, "");
  u_char text[NGX_INT64_LEN + sizeof(".000")];
  u_char* end = ngx_sprintf(text, "%L.%03L", micros / 1'000'000, micros / 1000 % 1000);
  return SetValue(request, value, {reinterpret_cast<char*>(text), static_cast<size_t>(end - text)});
}

int64_t Since(int64_t begin, int64_t end) {
  return begin == 0 || end == 0 ? -1 : end - begin;
}

std::string_view Route(const RequestContext& context) {
  return context.route;
}
std::string_view ThreadId(const RequestContext& context) {
  return context.thread_id;
}
std::string_view RunId(const RequestContext& context) {
  return context.run_id;
}
std::string_view OutcomeText(const RequestContext& context) {
  return context.outcome;
}
// Time until the engine's first output.
int64_t QueueTime(const RequestContext& context) {
  return Since(context.submitted, context.first_item);
}
int64_t FirstChunkTime(const RequestContext& context) {
  return Since(context.submitted, context.first_chunk);
}
int64_t RunTime(const RequestContext& context) {
  return Since(context.submitted, context.ended);
}

// Decimal; empty until the socket is closed.
ngx_int_t CloseCodeVariable(ngx_http_request_t* request, ngx_http_variable_value_t* value,
                            uintptr_t) noexcept {
  const RequestContext* context = FindContext(request);
  if (context == nullptr || context->socket_close_code == 0) return SetValue(request, value, "");
  u_char text[NGX_INT64_LEN];
  u_char* end = ngx_sprintf(text, "%ui", static_cast<ngx_uint_t>(context->socket_close_code));
  return SetValue(request, value, {reinterpret_cast<char*>(text), static_cast<size_t>(end - text)});
}

struct Variable {
  ngx_str_t name;
  ngx_http_get_variable_pt get;
};

const Variable kVariables[] = {
    {ngx_string("agent_graph_route"), TextVariable<Route>},
    {ngx_string("agent_graph_thread_id"), TextVariable<ThreadId>},
    {ngx_string("agent_graph_run_id"), TextVariable<RunId>},
    {ngx_string("agent_graph_outcome"), TextVariable<OutcomeText>},
    {ngx_string("agent_graph_queue_time"), TimeVariable<QueueTime>},
    {ngx_string("agent_graph_first_chunk_time"), TimeVariable<FirstChunkTime>},
    {ngx_string("agent_graph_run_time"), TimeVariable<RunTime>},
    {ngx_string("agent_graph_ws_close_code"), CloseCodeVariable},
};

}  // namespace

ngx_int_t AddVariables(ngx_conf_t* cf) noexcept {
  for (const Variable& known : kVariables) {
    ngx_str_t name = known.name;
    ngx_http_variable_t* variable = ngx_http_add_variable(cf, &name, NGX_HTTP_VAR_NOCACHEABLE);
    if (variable == nullptr) return NGX_ERROR;
    variable->get_handler = known.get;
  }
  return NGX_OK;
}

}  // namespace agent_graph::nginx
