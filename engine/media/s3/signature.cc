#include "media/s3/signature.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <ctime>

#include "base/hex.h"
#include "base/percent_encoding.h"
#include "base/sha256.h"

namespace agent_graph::media::s3 {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";
constexpr char kService[] = "s3";

std::string Hmac(std::string_view key, std::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest, &length);
  return {reinterpret_cast<const char*>(digest), length};
}

std::string CanonicalQuery(const Fields& query) {
  Fields encoded;
  for (const auto& [name, value] : query) {
    encoded.emplace_back(PercentEncode(name), PercentEncode(value));
  }
  std::ranges::sort(encoded);
  std::string out;
  for (const auto& [name, value] : encoded) {
    if (!out.empty()) out += '&';
    out.append(name).append("=").append(value);
  }
  return out;
}

// Trimmed, with each run of blanks reduced to one: proxies between us and the storage may change
// blanks in this way.
std::string CanonicalValue(std::string_view value) {
  std::string out;
  for (char c : value) {
    const bool blank = c == ' ' || c == '\t';
    if (!blank) {
      out.push_back(c);
    } else if (!out.empty() && out.back() != ' ') {
      out.push_back(' ');
    }
  }
  if (out.ends_with(' ')) out.pop_back();
  return out;
}

std::string NamesOf(const Fields& sorted_headers) {
  std::string names;
  for (const auto& [name, value] : sorted_headers) {
    if (!names.empty()) names += ';';
    names += name;
  }
  return names;
}

struct Time {
  std::string day;     // 20130524
  std::string second;  // 20130524T000000Z
};

Time FormatTime(int64_t unix_seconds) {
  auto seconds = static_cast<time_t>(unix_seconds);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char day[16];
  char second[32];
  return {{day, std::strftime(day, sizeof day, "%Y%m%d", &utc)},
          {second, std::strftime(second, sizeof second, "%Y%m%dT%H%M%SZ", &utc)}};
}

std::string ScopeOf(const Time& time, const std::string& region) {
  return time.day + "/" + region + "/" + kService + "/aws4_request";
}

std::string Signature(const Request& request, const Fields& sorted_headers,
                      const std::string& secret_key, const std::string& region, const Time& time) {
  std::string canonical = request.method + "\n" + EncodePath(request.path) + "\n" +
                          CanonicalQuery(request.query) + "\n";
  for (const auto& [name, value] : sorted_headers) {
    canonical.append(name).append(":").append(CanonicalValue(value)).append("\n");
  }
  canonical += '\n';
  canonical += NamesOf(sorted_headers) + "\n" + request.payload_hash;
  const std::string text = std::string(kAlgorithm) + "\n" + time.second + "\n" +
                           ScopeOf(time, region) + "\n" + Sha256Hex(canonical);
  std::string key = Hmac("AWS4" + secret_key, time.day);
  for (const std::string& part : {region, std::string(kService), std::string("aws4_request")}) {
    key = Hmac(key, part);
  }
  const std::string mac = Hmac(key, text);
  return Hex(mac.data(), mac.size());
}

}  // namespace

std::string EncodePath(std::string_view path) {
  return PercentEncode(path, "/");
}

Fields SignedHeaders(const Request& request, const Credentials& credentials,
                     const std::string& region, int64_t unix_seconds) {
  const Time time = FormatTime(unix_seconds);
  Fields headers = request.headers;
  headers.emplace_back("x-amz-content-sha256", request.payload_hash);
  headers.emplace_back("x-amz-date", time.second);
  if (!credentials.session_token.empty()) {
    headers.emplace_back("x-amz-security-token", credentials.session_token);
  }
  Fields sorted = headers;
  sorted.emplace_back("host", request.host);
  std::ranges::sort(sorted);
  headers.emplace_back(
      "authorization",
      std::string(kAlgorithm) + " Credential=" + credentials.access_key + "/" +
          ScopeOf(time, region) + ",SignedHeaders=" + NamesOf(sorted) +
          ",Signature=" + Signature(request, sorted, credentials.secret_key, region, time));
  return headers;
}

std::string PresignedQuery(const Request& request, const Credentials& credentials,
                           const std::string& region, int64_t unix_seconds,
                           int64_t lifetime_seconds) {
  const Time time = FormatTime(unix_seconds);
  Request signed_request = request;
  signed_request.payload_hash = kUnsignedPayload;
  Fields& query = signed_request.query;
  query.emplace_back("X-Amz-Algorithm", kAlgorithm);
  query.emplace_back("X-Amz-Credential", credentials.access_key + "/" + ScopeOf(time, region));
  query.emplace_back("X-Amz-Date", time.second);
  query.emplace_back("X-Amz-Expires", std::to_string(lifetime_seconds));
  query.emplace_back("X-Amz-SignedHeaders", "host");
  if (!credentials.session_token.empty()) {
    query.emplace_back("X-Amz-Security-Token", credentials.session_token);
  }
  const Fields headers = {{"host", request.host}};
  const std::string signature =
      Signature(signed_request, headers, credentials.secret_key, region, time);
  return CanonicalQuery(query) + "&X-Amz-Signature=" + signature;
}

}  // namespace agent_graph::media::s3
