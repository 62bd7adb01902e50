#include "ngx_module/request/request_headers.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace agent_graph::nginx {
namespace {

constexpr ngx_uint_t kHttp3 = 3000;  // older headers of nginx have no name for it

// A request as nginx has it after it has parsed the head.
class ParsedRequest {
 public:
  ParsedRequest(ngx_uint_t version, bridge::HeaderList headers, std::string authority = "")
      : headers_(std::move(headers)), authority_(std::move(authority)) {
    for (const auto& [name, value] : headers_) {
      ngx_table_elt_t element{};
      element.hash = 1;
      element.key = Reference(name);
      element.lowcase_key = element.key.data;
      element.value = Reference(value);
      elements_.push_back(element);
    }
    request_.http_version = version;
    request_.headers_in.headers.part.elts = elements_.data();
    request_.headers_in.headers.part.nelts = elements_.size();
    if (authority_.empty()) return;
    request_.host_start = reinterpret_cast<u_char*>(authority_.data());
    request_.host_end = request_.host_start + authority_.size();
  }
  ParsedRequest(const ParsedRequest&) = delete;
  ParsedRequest& operator=(const ParsedRequest&) = delete;

  bridge::HeaderList Copied() const { return CopyHeaders(&request_); }

 private:
  const bridge::HeaderList headers_;
  std::string authority_;
  std::vector<ngx_table_elt_t> elements_;
  ngx_http_request_t request_{};
};

TEST(CopyHeaders, KeepsTheirOrder) {
  const bridge::HeaderList headers = {{"host", "a.example"}, {"accept", "*/*"}, {"accept", "x"}};
  EXPECT_EQ(ParsedRequest(NGX_HTTP_VERSION_11, headers).Copied(), headers);
}

TEST(CopyHeaders, TheAuthorityOfHttp3IsTheHost) {
  const ParsedRequest request(kHttp3, {{"accept", "*/*"}}, "a.example:8443");
  const bridge::HeaderList expected = {{"accept", "*/*"}, {"host", "a.example:8443"}};
  EXPECT_EQ(request.Copied(), expected);
}

TEST(CopyHeaders, AHostThatTheClientSentIsTheOnlyOne) {
  const bridge::HeaderList headers = {{"host", "a.example"}};
  EXPECT_EQ(ParsedRequest(kHttp3, headers, "a.example").Copied(), headers);
  EXPECT_EQ(ParsedRequest(NGX_HTTP_VERSION_20, headers, "a.example").Copied(), headers);
}

// Its request line has a host without the port.
TEST(CopyHeaders, Http1HasNoHostButTheHeader) {
  EXPECT_TRUE(ParsedRequest(NGX_HTTP_VERSION_10, {}, "a.example").Copied().empty());
}

}  // namespace
}  // namespace agent_graph::nginx
