#include "auth/sealed_text.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "auth/base64url.h"
#include "base/base64.h"

namespace agent_graph::auth {
namespace {

constexpr size_t kDigestBytes = 20;

std::string DigestOf(std::string_view key, std::string_view purpose, std::string_view payload) {
  std::string text = std::to_string(purpose.size()) + ':';
  text += purpose;
  text += payload;
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest, &size);
  return {reinterpret_cast<const char*>(digest), kDigestBytes};
}

}  // namespace

std::string Seal(std::string_view key, std::string_view purpose, std::string_view payload) {
  return EncodeBase64Url(DigestOf(key, purpose, payload) + std::string(payload));
}

std::optional<std::string> Unseal(std::string_view key, std::string_view purpose,
                                  std::string_view text) {
  const std::optional<std::string> bytes = DecodeBase64Url(text);
  if (!bytes || bytes->size() < kDigestBytes) return std::nullopt;
  std::string payload = bytes->substr(kDigestBytes);
  const std::string digest = DigestOf(key, purpose, payload);
  if (CRYPTO_memcmp(digest.data(), bytes->data(), kDigestBytes) != 0) return std::nullopt;
  return payload;
}

}  // namespace agent_graph::auth
