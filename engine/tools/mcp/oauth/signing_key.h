// The private key with which a client authenticates (private_key_jwt, RFC 7523).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "base/status.h"

namespace agent_graph::tools::mcp::oauth {

// Immutable, thread-safe.
class SigningKey {
 public:
  ~SigningKey();

  // Reads a key in PEM format; line ends may be written as "\n" (two characters). Accepts RSA from
  // 2048 bits, P-256, P-384 and Ed25519, all without a passphrase; otherwise returns
  // kInvalidArgument.
  static Result<std::shared_ptr<const SigningKey>> FromPem(std::string_view pem);

  // Returns the first of the key's algorithms ("RS256", "PS256"; "ES256"; …) that `accepted`
  // contains, or the key's first one if `accepted` is empty. Returns an empty text if none matches.
  std::string AlgorithmFor(const std::vector<std::string>& accepted) const;
  // Returns a signed JSON Web Token; empty if OpenSSL fails.
  std::string SignedToken(const std::string& algorithm, const std::string& key_id,
                          const json& claims) const;

 private:
  struct Key;
  SigningKey(std::unique_ptr<Key> key, std::vector<std::string> algorithms);

  std::string Sign(std::string_view algorithm, std::string_view text) const;

  const std::unique_ptr<Key> key_;
  const std::vector<std::string> algorithms_;
};

using SigningKeyPtr = std::shared_ptr<const SigningKey>;

}  // namespace agent_graph::tools::mcp::oauth
