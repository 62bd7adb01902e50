// The functions of nginx that a reply needs, and a request to send it with. Bytes that pass the
// filters are collected.
#pragma once

#include <string>

#include "ngx_module/ngx.h"

namespace agent_graph::nginx {

struct FakeNginx {
  FakeNginx();
  ~FakeNginx();
  FakeNginx(const FakeNginx&) = delete;
  FakeNginx& operator=(const FakeNginx&) = delete;

  // The client does not read: the filters keep what they get.
  bool blocked = false;
  // Received by the filters.
  int heads = 0;
  std::string body;
  bool ended = false;

  ngx_http_request_t request{};

 private:
  ngx_connection_t connection_{};
  ngx_event_t write_{};
  ngx_http_core_loc_conf_t core_{};
  void* configurations_[1] = {&core_};
};

}  // namespace agent_graph::nginx
