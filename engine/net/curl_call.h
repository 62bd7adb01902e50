// One HTTP/1.1 call, between libcurl's callbacks and the fiber that reads. Both run on the same
// engine thread, one after the other, so no locks are needed.
#pragma once

#include <curl/curl.h>

#include <string>

#include "net/curl_loop.h"
#include "net/http_transfer.h"

namespace agent_graph::net {

struct HttpRoute {
  std::string proxy;  // empty: none
  std::string ca_file;
};

class CurlCall : public HttpCall::Transfer, public CurlTransfer {
 public:
  CurlCall(CurlLoop& loop, HttpRequest request, const runtime::Cancellation& cancellation,
           Deadline started);
  ~CurlCall() override;

  Status Start(const HttpRoute& route);
  Status Write(std::string piece) override;
  Result<HttpHead*> ReadHead() override;
  Result<std::string> Read() override;
  int sends() const override { return sends_; }

  void OnDone(CURLcode result) override;

 private:
  static curl_socket_t OnOpen(void* self, curlsocktype purpose, curl_sockaddr* address);
  static int OnSend(void* self, char* server_ip, char* own_ip, int server_port, int own_port);
  static size_t OnHeader(char* data, size_t size, size_t count, void* self);
  static size_t OnBody(char* data, size_t size, size_t count, void* self);
  static size_t OnUpload(char* data, size_t size, size_t count, void* self);

  void SetOptions(const HttpRoute& route);
  void SetConnectionOptions();
  bool SetHeaders();
  size_t TakeHeaderLine(std::string_view line);
  size_t TakeBody(std::string_view piece);
  bool MaySend();
  size_t GiveUpload(char* data, size_t room);
  Status Failure() const;

  CurlLoop& loop_;
  CURL* handle_ = nullptr;
  curl_slist* header_list_ = nullptr;
  bool added_ = false;
  char error_text_[CURL_ERROR_SIZE] = {};

  const int sends_max_;
  int sends_ = 0;
  bool resend_refused_ = false;  // a kept connection was lost and libcurl wanted to send once more

  std::string upload_;       // the piece that is being sent
  size_t upload_taken_ = 0;  // bytes of `upload_` sent so far
  bool upload_paused_ = false;

  HttpHead head_;
  size_t head_bytes_ = 0;
  bool head_complete_ = false;
  std::string body_;  // received but not read yet
  size_t body_bytes_ = 0;
  bool paused_ = false;
  bool too_large_ = false;
  bool done_ = false;
  CURLcode result_ = CURLE_OK;
};

}  // namespace agent_graph::net
