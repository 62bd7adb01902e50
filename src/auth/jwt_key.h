// The signature algorithms of RFC 7518 and 8037, and keys that verify signatures.
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

// A signature algorithm.
struct JwtAlgorithm {
  std::string_view name;
  JwtFamily family;
  const char* digest;       // null: the key determines the digest
  const char* curve;        // for kEcdsa, OpenSSL's name of the curve
  size_t coordinate_bytes;  // for kEcdsa: half of the length of a signature
};

// Returns null for unknown names, and for "none".
const JwtAlgorithm* FindJwtAlgorithm(std::string_view name);

// Thread-safe: verification copies what it changes.
class JwtKey {
 public:
  // Failures give the reason and never quote the key.
  static Result<JwtKey> FromSecret(const JwtAlgorithm& algorithm, std::string_view secret);
  // Reads a public key, a certificate, or a private key, which contains the public one. A literal
  // "\n" counts as a line end, since an environment file has one line per variable.
  static Result<JwtKey> FromPem(const JwtAlgorithm& algorithm, std::string_view pem);

  // Returns true if `signature` (raw bytes, as in a token) is valid for `signed_text`.
  bool Verify(std::string_view signed_text, std::string_view signature) const;

  const std::string& id() const { return id_; }  // `kid` of a JWKS entry; otherwise empty

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

// Reads the keys of an RFC 7517 key set that match the algorithm. Keys for another type, algorithm
// or use (`use`, `key_ops`) are skipped. Fails if no key is left, or if a matching key is broken or
// weak.
Result<std::vector<JwtKey>> ReadJwks(const JwtAlgorithm& algorithm, std::string_view text);

}  // namespace agent_graph::auth
