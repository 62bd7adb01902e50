#include "api/http/content_coding.h"

#include <gtest/gtest.h>

namespace agent_graph::api {
namespace {

TEST(AcceptsGzip, ReadsTheCodings) {
  for (const char* accepted : {"gzip", "GZIP", "br, gzip", "gzip;q=0.5",
                               "deflate , gzip ;q=1.0, br", "*", "identity;q=0, *;q=0.1"}) {
    EXPECT_TRUE(AcceptsGzip(accepted)) << accepted;
  }
  for (const char* refused : {"", "br", "gzipped", "gzip;q=0", "gzip; q=0.000, br", "identity",
                              "*;q=0", "*, gzip;q=0", ",", ";q=1"}) {
    EXPECT_FALSE(AcceptsGzip(refused)) << refused;
  }
}

}  // namespace
}  // namespace agent_graph::api
