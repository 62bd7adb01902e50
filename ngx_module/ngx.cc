#include "ngx_module/ngx.h"

#include "base/text.h"

namespace agent_graph::nginx {

ngx_str_t CopyToPool(ngx_pool_t* pool, std::string_view text) {
  auto* data = static_cast<u_char*>(ngx_pnalloc(pool, text.size() + 1));
  if (data == nullptr) return {0, nullptr};
  ngx_memcpy(data, text.data(), text.size());
  data[text.size()] = '\0';
  return {text.size(), data};
}

ngx_table_elt_t* AddResponseHeader(ngx_http_request_t* request, std::string_view name,
                                   std::string_view value) {
  auto* header = static_cast<ngx_table_elt_t*>(ngx_list_push(&request->headers_out.headers));
  if (header == nullptr) return nullptr;
  header->hash = 1;  // nginx does not send headers with hash 0
  header->key = Reference(name);
  header->value = Reference(value);
  header->lowcase_key = nullptr;
#if (nginx_version >= 1023000)
  header->next = nullptr;
#endif
  return header;
}

std::string_view FindRequestHeader(const ngx_http_request_t* request, std::string_view name) {
  const ngx_list_part_t* part = &request->headers_in.headers.part;
  for (; part != nullptr; part = part->next) {
    auto* headers = static_cast<const ngx_table_elt_t*>(part->elts);
    for (ngx_uint_t i = 0; i < part->nelts; ++i) {
      if (headers[i].hash == 0 || headers[i].key.len != name.size()) continue;
      if (ngx_strncmp(headers[i].lowcase_key, name.data(), name.size()) == 0) {
        return View(headers[i].value);
      }
    }
  }
  return {};
}

void Log(ngx_log_t* log, ngx_uint_t level, std::string_view text) {
  // Parts of the text come from models, tools and clients.
  const std::string shown = OneLine(text, NGX_MAX_ERROR_STR);
  ngx_str_t line = Reference(shown);
  ngx_log_error(level, log, 0, "agent_graph: %V", &line);
}

}  // namespace agent_graph::nginx
