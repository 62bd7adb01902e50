// AWS Signature Version 4 for S3, as every S3-compatible storage checks it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agent_graph::media::s3 {

struct Credentials {
  std::string access_key;
  std::string secret_key;     // never logged
  std::string session_token;  // empty: none
};

using Fields = std::vector<std::pair<std::string, std::string>>;

// What is signed of a request.
struct Request {
  std::string method;
  std::string host;
  std::string path;          // "/bucket/key", not encoded
  Fields query;              // not encoded
  Fields headers;            // names in lower case; host and x-amz-date are added here
  std::string payload_hash;  // hex SHA-256, or kUnsignedPayload
};

inline constexpr std::string_view kUnsignedPayload = "UNSIGNED-PAYLOAD";
inline constexpr std::string_view kEmptyPayload =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

// The headers to send: the request's own, x-amz-date, x-amz-content-sha256, authorization and, with
// a session token, x-amz-security-token.
Fields SignedHeaders(const Request& request, const Credentials& credentials,
                     const std::string& region, int64_t unix_seconds);

// The query of a URL that needs no headers, without "?". Valid for `lifetime_seconds`.
std::string PresignedQuery(const Request& request, const Credentials& credentials,
                           const std::string& region, int64_t unix_seconds,
                           int64_t lifetime_seconds);

// Percent-encoded but for its slashes.
std::string EncodePath(std::string_view path);

}  // namespace agent_graph::media::s3
