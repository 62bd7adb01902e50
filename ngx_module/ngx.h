// The only file that includes nginx's headers. It also hides the differences between nginx
// versions.
#pragma once

// clang-format off: ngx_config.h defines what system headers offer and must be first.
extern "C" {
#include <ngx_config.h>
#include <ngx_core.h>
#include <nginx.h>
#include <ngx_event.h>
#include <ngx_http.h>
}
// clang-format on

#include <string>
#include <string_view>

extern "C" {
extern ngx_module_t ngx_http_agent_graph_module;
extern ngx_module_t ngx_http_agent_graph_filter_module;
extern ngx_module_t ngx_http_agent_graph_header_filter_module;
}

namespace agent_graph::nginx {

inline std::string_view View(const ngx_str_t& text) {
  return {reinterpret_cast<const char*>(text.data), text.len};
}

// Refers to `text`, which must outlive the result. nginx only reads it.
inline ngx_str_t Reference(std::string_view text) {
  return {text.size(), reinterpret_cast<u_char*>(const_cast<char*>(text.data()))};
}

// A zero-terminated copy in `pool`; `data` is null if memory is exhausted.
ngx_str_t CopyToPool(ngx_pool_t* pool, std::string_view text);

// Appends a response header. Both strings must outlive the request. Null: out of memory.
ngx_table_elt_t* AddResponseHeader(ngx_http_request_t* request, std::string_view name,
                                   std::string_view value);

// Calls visit(name, value) for each request header in the order of the request. Names are in lower
// case.
template <typename Visit>
void ForEachRequestHeader(const ngx_http_request_t* request, Visit visit) {
  const ngx_list_part_t* part = &request->headers_in.headers.part;
  for (; part != nullptr; part = part->next) {
    auto* headers = static_cast<const ngx_table_elt_t*>(part->elts);
    for (ngx_uint_t i = 0; i < part->nelts; ++i) {
      const ngx_table_elt_t& header = headers[i];
      const auto* name = reinterpret_cast<const char*>(header.lowcase_key);
      visit(std::string_view(name, header.key.len), View(header.value));
    }
  }
}

// Calls visit(header) for each response header in nginx's order, also for those that are hidden.
template <typename Visit>
void ForEachResponseHeader(ngx_http_request_t* request, Visit visit) {
  ngx_list_part_t* part = &request->headers_out.headers.part;
  for (; part != nullptr; part = part->next) {
    auto* headers = static_cast<ngx_table_elt_t*>(part->elts);
    for (ngx_uint_t i = 0; i < part->nelts; ++i) visit(headers[i]);
  }
}

// The value of the first request header with that lower-case name; empty if there is none.
std::string_view FindRequestHeader(const ngx_http_request_t* request, std::string_view name);

// Writes one line to nginx's error log. Line breaks in `text` are replaced.
void Log(ngx_log_t* log, ngx_uint_t level, std::string_view text);

}  // namespace agent_graph::nginx
