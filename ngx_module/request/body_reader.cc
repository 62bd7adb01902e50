#include "ngx_module/request/body_reader.h"

#include <fcntl.h>

#include <utility>

namespace agent_graph::nginx {
namespace {

// Smaller bodies stay with nginx, for $request_body in a log.
constexpr uint64_t kFreedBodyBytesMin = 64 * 1024;
// Smaller bodies are read before the engine has room for them.
constexpr uint64_t kLargeBodyBytesMin = 128 * 1024;

const ngx_http_core_loc_conf_t& CoreLocation(const ngx_http_request_t* request) {
  return *static_cast<ngx_http_core_loc_conf_t*>(
      ngx_http_get_module_loc_conf(request, ngx_http_core_module));
}

// A mirror reads the body beside us, and a post_action after us.
bool OthersMayReadBody(const ngx_http_request_t* request) {
  return request->preserve_body || CoreLocation(request).post_action.data != nullptr;
}

// Closes nginx's descriptor of the temporary file. nginx would keep it open until the request ends;
// its upstream module closes it early in the same way.
void CloseForNginx(ngx_http_request_t* request, ngx_file_t* file) {
  if (OthersMayReadBody(request)) return;
  ngx_pool_run_cleanup_file(request->pool, file->fd);
  file->fd = NGX_INVALID_FILE;
}

// nginx would keep its buffer, with a large body or the beginning of one in a file, until the
// request ends. Bytes that came with the request's head lie in another buffer, which is not the
// pool's, so freeing it has no effect.
void FreeForNginx(ngx_http_request_t* request) {
  if (OthersMayReadBody(request)) return;
  ngx_http_request_body_t& body = *request->request_body;
  body.bufs = nullptr;
  if (ngx_buf_t* const buffer = std::exchange(body.buf, nullptr)) {
    ngx_pfree(request->pool, buffer->start);
  }
}

}  // namespace

uint64_t LargeBodyInMemory(const ngx_http_request_t* request) {
  const auto length = request->headers_in.content_length_n;
  const uint64_t buffer = CoreLocation(request).client_body_buffer_size;
  if (length <= 0 && !request->headers_in.chunked) return 0;
  // nginx takes a buffer of the body's size if the body is up to a quarter larger.
  const bool fits = length > 0 && static_cast<uint64_t>(length) < buffer + buffer / 4;
  const uint64_t bytes = fits ? static_cast<uint64_t>(length) : buffer;
  return bytes >= kLargeBodyBytesMin ? bytes : 0;
}

Result<bridge::Body> TakeBody(ngx_http_request_t* request, uint64_t bytes_max) {
  bridge::Body body;
  if (request->request_body == nullptr) return body;
  uint64_t total = 0;
  const ngx_buf_t* file = nullptr;
  for (ngx_chain_t* link = request->request_body->bufs; link != nullptr; link = link->next) {
    total += ngx_buf_size(link->buf);
    if (link->buf->in_file) file = link->buf;
  }
  if (total > bytes_max) {
    return Status(StatusCode::kResourceExhausted,
                  "the request body is larger than " + std::to_string(bytes_max) + " bytes");
  }
  if (file != nullptr) {
    // If nginx uses a temporary file, that file holds the whole body.
    if (file->file_pos != 0 || static_cast<uint64_t>(file->file_last) != total) {
      return Status(StatusCode::kInternal,
                    "the file with the request body does not hold all of it");
    }
    body.file = FileDescriptor(fcntl(file->file->fd, F_DUPFD_CLOEXEC, 0));
    if (!body.file) return Status(StatusCode::kUnavailable, "no file descriptor is free");
    body.file_length = total;
    CloseForNginx(request, file->file);
    FreeForNginx(request);
    return body;
  }
  body.bytes.reserve(total);
  for (ngx_chain_t* link = request->request_body->bufs; link != nullptr; link = link->next) {
    body.bytes.append(reinterpret_cast<const char*>(link->buf->pos),
                      link->buf->last - link->buf->pos);
  }
  if (total >= kFreedBodyBytesMin) FreeForNginx(request);
  return body;
}

bool TakeBodyPiece(ngx_http_request_t* request, std::string& piece) {
  if (request->request_body == nullptr) return true;
  ngx_chain_t* link = std::exchange(request->request_body->bufs, nullptr);
  while (link != nullptr) {
    ngx_buf_t* buffer = link->buf;
    if (buffer->in_file) return false;
    if (ngx_buf_in_memory(buffer)) {
      piece.append(reinterpret_cast<const char*>(buffer->pos), buffer->last - buffer->pos);
      buffer->pos = buffer->last;
    }
    ngx_chain_t* used = std::exchange(link, link->next);
    ngx_free_chain(request->pool, used);
  }
  return true;
}

}  // namespace agent_graph::nginx
