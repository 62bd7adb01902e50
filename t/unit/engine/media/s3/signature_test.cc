// The examples of Amazon's "Authenticating Requests (AWS Signature Version 4)" for S3.
#include "media/s3/signature.h"

#include <gtest/gtest.h>

#include "base/sha256.h"

namespace agent_graph::media::s3 {
namespace {

const Credentials kCredentials{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                               ""};
constexpr int64_t kTime = 1369353600;  // 2013-05-24T00:00:00Z
constexpr char kHost[] = "examplebucket.s3.amazonaws.com";

std::string HeaderOf(const Fields& headers, std::string_view name) {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

std::string SignatureOf(const Request& request) {
  std::string value =
      HeaderOf(SignedHeaders(request, kCredentials, "us-east-1", kTime), "authorization");
  return value.substr(value.rfind('=') + 1);
}

TEST(SignedHeaders, OfGetObject) {
  Request request{
      "GET", kHost, "/test.txt", {}, {{"range", "bytes=0-9"}}, std::string(kEmptyPayload)};
  EXPECT_EQ(HeaderOf(SignedHeaders(request, kCredentials, "us-east-1", kTime), "authorization"),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
            "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"
            "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(SignedHeaders, OfPutObject) {
  Request request{
      "PUT",
      kHost,
      "/test$file.text",
      {},
      {{"date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
      Sha256Hex("Welcome to Amazon S3.")};
  EXPECT_EQ(SignatureOf(request),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

TEST(SignedHeaders, OfABucketsLifecycle) {
  Request request{"GET", kHost, "/", {{"lifecycle", ""}}, {}, std::string(kEmptyPayload)};
  EXPECT_EQ(SignatureOf(request),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
}

TEST(SignedHeaders, OfAList) {
  Request request{
      "GET", kHost, "/", {{"prefix", "J"}, {"max-keys", "2"}}, {}, std::string(kEmptyPayload)};
  EXPECT_EQ(SignatureOf(request),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(SignedHeaders, OfValuesWithBlanks) {
  Request request{"PUT",
                  kHost,
                  "/test$file.text",
                  {},
                  {{"date", "  Fri, 24   May 2013\t00:00:00 GMT "},
                   {"x-amz-storage-class", "REDUCED_REDUNDANCY  "}},
                  Sha256Hex("Welcome to Amazon S3.")};
  EXPECT_EQ(SignatureOf(request),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

TEST(SignedHeaders, CarryTheSessionToken) {
  Credentials temporary = kCredentials;
  temporary.session_token = "token";
  Request request{"GET", kHost, "/a", {}, {}, std::string(kEmptyPayload)};
  Fields headers = SignedHeaders(request, temporary, "us-east-1", kTime);
  EXPECT_EQ(HeaderOf(headers, "x-amz-security-token"), "token");
  EXPECT_NE(HeaderOf(headers, "authorization").find("x-amz-security-token"), std::string::npos);
}

TEST(PresignedQuery, OfGetObject) {
  Request request{"GET", kHost, "/test.txt", {}, {}, ""};
  EXPECT_EQ(PresignedQuery(request, kCredentials, "us-east-1", kTime, 86400),
            "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2F"
            "us-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&"
            "X-Amz-SignedHeaders=host&X-Amz-Signature="
            "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404");
}

TEST(Encode, Names) {
  EXPECT_EQ(EncodePath("/a b/\xc3\xa9+~.txt"), "/a%20b/%C3%A9%2B~.txt");
}

}  // namespace
}  // namespace agent_graph::media::s3
