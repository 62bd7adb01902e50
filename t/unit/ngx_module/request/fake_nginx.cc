#include "fake_nginx.h"

namespace {

agent_graph::nginx::FakeNginx* current = nullptr;

}  // namespace

extern "C" {

ngx_module_t ngx_http_core_module;

ngx_int_t ngx_tcp_nodelay(ngx_connection_t*) {
  return NGX_OK;
}

ngx_int_t ngx_http_send_header(ngx_http_request_t*) {
  ++current->heads;
  return NGX_OK;
}

ngx_int_t ngx_http_output_filter(ngx_http_request_t* request, ngx_chain_t* chain) {
  for (; chain != nullptr; chain = chain->next) {
    ngx_buf_t& buffer = *chain->buf;
    current->body.append(reinterpret_cast<char*>(buffer.pos),
                         static_cast<size_t>(buffer.last - buffer.pos));
    current->ended = current->ended || buffer.last_buf != 0;
    if (!current->blocked) buffer.pos = buffer.last;
  }
  request->connection->buffered = current->blocked ? 1 : 0;
  return current->blocked ? NGX_AGAIN : NGX_OK;
}

ngx_int_t ngx_http_send_special(ngx_http_request_t*, ngx_uint_t flags) {
  current->ended = current->ended || (flags & NGX_HTTP_LAST) != 0;
  return NGX_OK;
}

}  // extern "C"

namespace agent_graph::nginx {

FakeNginx::FakeNginx() {
  write_.ready = 1;
  connection_.write = &write_;
  request.connection = &connection_;
  request.loc_conf = configurations_;
  current = this;
}

FakeNginx::~FakeNginx() {
  current = nullptr;
}

ngx_table_elt_t* AddResponseHeader(ngx_http_request_t*, std::string_view, std::string_view) {
  static ngx_table_elt_t header;
  return &header;
}

}  // namespace agent_graph::nginx
