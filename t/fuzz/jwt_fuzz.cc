// Unsigned tokens must never be valid. Tokens that are signed here with any header and payload must
// be valid only if they have the claims that a user needs. Key sets must be parsed safely.
#include <openssl/hmac.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "agent_graph/json.h"
#include "auth/base64url.h"
#include "auth/jwt.h"

namespace agent_graph::auth {
namespace {

constexpr std::string_view kSecret = "0123456789abcdef0123456789abcdef";
constexpr double kNow = 1'700'000'000;

void Require(bool condition) {
  if (!condition) std::abort();
}

std::string EncodeBase64Url(std::string_view bytes) {
  static constexpr char kAlphabet[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string text;
  unsigned bits = 0;
  int count = 0;
  for (unsigned char byte : bytes) {
    bits = (bits << 8 | byte) & 0xffff;
    for (count += 8; count >= 6; count -= 6) text += kAlphabet[bits >> (count - 6) & 63];
  }
  if (count > 0) text += kAlphabet[bits << (6 - count) & 63];
  return text;
}

const JwtVerifier& Verifier() {
  static const JwtVerifier verifier = [] {
    settings::JwtSettings options;
    options.algorithm = "HS256";
    options.secret = kSecret;
    return JwtVerifier::Create(options).value();
  }();
  return verifier;
}

void TryUnsigned(std::string_view token) {
  json claims;
  Require(Verifier().Verify(token, kNow, claims) == TokenVerdict::kInvalid);
}

// `text` is a header and a payload, separated by a newline.
void TrySigned(std::string_view text) {
  size_t line = text.find('\n');
  if (line == std::string_view::npos) return;
  std::string token =
      EncodeBase64Url(text.substr(0, line)) + "." + EncodeBase64Url(text.substr(line + 1));
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  HMAC(EVP_sha256(), kSecret.data(), static_cast<int>(kSecret.size()),
       reinterpret_cast<const unsigned char*>(token.data()), token.size(), digest, &length);
  token += "." + EncodeBase64Url({reinterpret_cast<char*>(digest), length});
  json claims;
  if (Verifier().Verify(token, kNow, claims) != TokenVerdict::kValid) return;
  Require(claims.is_object() && claims["exp"].is_number() && claims["exp"].get<double>() > kNow);
  std::string user_id = UserIdOf(claims);
  Require(!user_id.empty() && user_id.size() <= kUserIdBytesMax);
}

void TryDecoding(std::string_view text) {
  std::optional<std::string> bytes = DecodeBase64Url(text);
  if (bytes) Require(EncodeBase64Url(*bytes) == text);
}

void TryKeySet(std::string_view text) {
  for (const char* name : {"HS256", "RS256", "ES256", "EdDSA"}) {
    auto keys = ReadJwks(*FindJwtAlgorithm(name), text);
    if (keys.ok()) Require(!keys->empty() && !(*keys)[0].Verify("text", "signature"));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 't':
      TryUnsigned(text);
      break;
    case 's':
      TrySigned(text);
      break;
    case 'b':
      TryDecoding(text);
      break;
    case 'k':
      TryKeySet(text);
      break;
    default:
      break;
  }
  return 0;
}

}  // namespace agent_graph::auth
