// Options of S3Storage.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "media/s3/signature.h"

namespace agent_graph::media::s3 {

struct StorageOptions {
  std::string endpoint;  // "https://host[:port]": path-style; empty: Amazon S3, virtual-hosted
  std::string bucket;
  std::string prefix;  // the beginning of all keys; without a slash at either end
  std::string region = "us-east-1";
  Credentials credentials;
  int64_t url_lifetime_seconds = 3600;
  // A presigned URL that expires sooner than this is replaced by a new one.
  int64_t url_refresh_seconds = 60;
  // For all tries of one request, except the download of a file, which only must not pause for
  // long.
  std::chrono::milliseconds transfer_max{600'000};
};

}  // namespace agent_graph::media::s3
