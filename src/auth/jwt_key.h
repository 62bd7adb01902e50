// The algorithms of RFC 7518 and 8037 and the keys they verify with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "auth/openssl_owned.h"
#include "base/status.h"

namespace agent_graph::auth {

enum class JwtFamily : uint8_t { kHmac, kRsaPkcs1, kRsaPss, kEcdsa, kEdDsa };

struct JwtAlgorithm {
  std::string_view name;
  JwtFamily family;
  const char* digest;       // null: the key says it
  const char* curve;        // of kEcdsa, as OpenSSL calls it
  size_t coordinate_bytes;  // of kEcdsa: half of a signature
};

// Null for a name that is none, "none" included.
const JwtAlgorithm* FindJwtAlgorithm(std::string_view name);

// Thread-safe: verification copies what it changes.
class JwtKey {
 public:
  // Failures name the reason, never the material.
  static Result<JwtKey> FromSecret(const JwtAlgorithm& algorithm, std::string_view secret);
  // A public key, a certificate or a private key, which holds the public one. A literal "\n" stands
  // for a line's end, since an environment file has one line per variable.
  static Result<JwtKey> FromPem(const JwtAlgorithm& algorithm, std::string_view pem);

  bool Verify(std::string_view signed_text, std::string_view signature) const;

  const std::string& id() const { return id_; }  // `kid` of a JWKS entry; else empty

 private:
  friend Result<std::vector<JwtKey>> ReadJwks(const JwtAlgorithm&, std::string_view);

  explicit JwtKey(const JwtAlgorithm& algorithm) : algorithm_(&algorithm) {}
  static Result<JwtKey> FromPublicKey(const JwtAlgorithm& algorithm, EVP_PKEY* key);
  bool VerifyMac(std::string_view signed_text, std::string_view signature) const;
  bool VerifyPublic(std::string_view signed_text, std::string_view signature) const;

  const JwtAlgorithm* algorithm_;
  std::string id_;
  Owned<EVP_PKEY> public_key_;
  Owned<EVP_MAC_CTX> mac_;  // keyed; copied for each token
};

bool LooksLikePem(std::string_view text);

inline constexpr size_t kJwksKeysMax = 64;

// Reads the keys of an RFC 7517 key set that fit the algorithm. Keys for another type, algorithm or
// use (`use`, `key_ops`) are skipped. Fails if none is left, or if one that fits is broken or weak.
Result<std::vector<JwtKey>> ReadJwks(const JwtAlgorithm& algorithm, std::string_view text);

}  // namespace agent_graph::auth
