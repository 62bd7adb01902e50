// AWS Signature Version 4 for S3, which every S3-compatible storage verifies.
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

// The parts of a request that are signed.
struct Request {
  std::string method;
  std::string host;
  std::string path;          // "/bucket/key", not percent-encoded
  Fields query;              // not percent-encoded
  Fields headers;            // names in lower case; host and x-amz-date are added here
  std::string payload_hash;  // hex SHA-256, or kUnsignedPayload
};

inline constexpr std::string_view kUnsignedPayload = "UNSIGNED-PAYLOAD";
inline constexpr std::string_view kEmptyPayload =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

// The headers to send: those of the request, x-amz-date, x-amz-content-sha256, authorization and,
// with a session token, x-amz-security-token.
Fields SignedHeaders(const Request& request, const Credentials& credentials,
                     const std::string& region, int64_t unix_seconds);

// The query (without "?") of a presigned URL, which needs no headers. Valid for `lifetime_seconds`.
std::string PresignedQuery(const Request& request, const Credentials& credentials,
                           const std::string& region, int64_t unix_seconds,
                           int64_t lifetime_seconds);

// Percent-encodes everything except slashes.
std::string EncodePath(std::string_view path);

}  // namespace agent_graph::media::s3
