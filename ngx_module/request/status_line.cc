#include "ngx_module/request/status_line.h"

#include <algorithm>

namespace agent_graph::nginx {
namespace {

struct StatusLine {
  ngx_uint_t status;
  std::string_view text;
};

// Registered status codes without a text in ngx_http_header_filter_module. Authentication backends
// may answer with any of them.
constexpr StatusLine kStatusLines[] = {
    {101, "101 Switching Protocols"},
    {300, "300 Multiple Choices"},
    {305, "305 Use Proxy"},
    {407, "407 Proxy Authentication Required"},
    {417, "417 Expectation Failed"},
    {418, "418 I'm a teapot"},
    {422, "422 Unprocessable Content"},
    {423, "423 Locked"},
    {424, "424 Failed Dependency"},
    {425, "425 Too Early"},
    {426, "426 Upgrade Required"},
    {428, "428 Precondition Required"},
    {431, "431 Request Header Fields Too Large"},
    {451, "451 Unavailable For Legal Reasons"},
    {506, "506 Variant Also Negotiates"},
    {508, "508 Loop Detected"},
    {510, "510 Not Extended"},
    {511, "511 Network Authentication Required"},
};

}  // namespace

void SetStatusLine(ngx_http_request_t* request) {
  auto& head = request->headers_out;
  if (head.status_line.len > 0) return;
  const auto* line = std::ranges::find(kStatusLines, head.status, &StatusLine::status);
  if (line != std::end(kStatusLines)) head.status_line = Reference(line->text);
}

}  // namespace agent_graph::nginx
